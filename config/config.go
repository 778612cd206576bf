package config

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/causewayhq/causeway/handlers/unified"
)

// Config is everything an installation says about itself. Fields are named as
// in the file; values in brackets are the defaults.
type Config struct {
	// Listen is the address of the webhooks, host:port. [":8080"]
	Listen string `yaml:"listen" validate:"required,listen"`
	// TLS serves the webhooks by HTTPS. [none: a proxy in front does]
	TLS *TLS `yaml:"tls,omitempty"`
	// TrustedProxies are addresses or networks whose X-Forwarded-For is
	// believed for the client's address, in the log and where an endpoint goes by
	// it. [none]
	TrustedProxies []string `yaml:"trusted_proxies,omitempty" validate:"dive,ip|cidr"`
	// Admin is the listener for operators.
	Admin Admin `yaml:"admin"`
	// Store is where everything is kept: "sqlite:" and a folder, or {url,
	// reserve}. ["sqlite:data"]
	Store Store `yaml:"store"`
	// NATS is the transport. [embedded]
	NATS NATS `yaml:"nats"`
	// Endpoints are the callback URLs with their credentials. At least one.
	Endpoints []Endpoint `yaml:"endpoints" validate:"min=1,dive"`
	// Accounts are the senders; items for one that is not here are dead
	// letters "no_account" until it is added.
	Accounts []Account `yaml:"accounts,omitempty" validate:"dive"`
	// Pools let several accounts send as one.
	Pools []Pool `yaml:"pools,omitempty" validate:"dive"`
	// Results are receivers that are told by HTTP what became of messages.
	Results []Receiver `yaml:"results,omitempty" validate:"dive"`
	// Send is how messages that certainly were not sent are tried again.
	Send Retry `yaml:"send"`
	// Applications are the consumers of events.
	Applications []Application `yaml:"applications,omitempty" validate:"dive"`
	// Loop stops conversations in which two machines talk to each other.
	Loop Loop `yaml:"loop"`
	// Dedup says per kind what becomes of an event that came before.
	Dedup Dedup `yaml:"dedup"`
	// Limits bound what callers may cost.
	Limits Limits `yaml:"limits"`
	// Media is what is done with the files of messages.
	Media Media `yaml:"media"`
	// Log is what is written to standard error.
	Log Log `yaml:"log"`
}

// TLS names the files of a certificate, in PEM. Certificate and key are read
// again when the files change, the authority of clients is read at start.
type TLS struct {
	// Cert holds the certificate and the chain above it. Platforms take only
	// publicly trusted ones.
	Cert string `yaml:"cert" validate:"required"`
	Key  string `yaml:"key" validate:"required"`
	// ClientCA holds the authorities whose client certificates endpoints with
	// mtls take. [none]
	ClientCA string `yaml:"client_ca,omitempty"`
	// ClientCN is the common name of such a certificate.
	// ["client.webhooks.fbclientcerts.com", Meta's, where client_ca is named]
	ClientCN string `yaml:"client_cn,omitempty"`
}

// Admin is the listener for operators: API, metrics, health with details.
type Admin struct {
	// Listen is host:port. ["127.0.0.1:8081"] On an address that others can
	// reach, at least one token is needed.
	Listen string `yaml:"listen" validate:"required,listen"`
	// URL is where bots behind a URL reach this listener, to answer later. [http://
	// and listen; none where that is every address] They need no token of it.
	URL string `yaml:"url,omitempty"`
	// Tokens may use it. [one is made at start, in the data folder]
	Tokens []Token `yaml:"tokens,omitempty" validate:"dive"`
}

// Token is one bearer token of the admin listener.
type Token struct {
	// Name stands in the audit.
	Name string `yaml:"name" validate:"required,name"`
	// Role is viewer (reads), operator (also raw bodies, requeue, replay, send,
	// pause) or admin (everything).
	Role string `yaml:"role" validate:"required,oneof=viewer operator admin"`
	// Token is the secret, at least 16 characters.
	Token Secret `yaml:"token" validate:"required,min=16"`
}

// Store is where everything is kept. In the file it may be written as its URL
// alone.
type Store struct {
	// URL is "sqlite:" and a folder, made when missing. ["sqlite:data"]
	URL string `yaml:"url" config:"short" validate:"required"`
	// Reserve is the free space below which nothing is published any more, so
	// that archiving can go on. [1GiB]
	Reserve Bytes `yaml:"reserve" validate:"min=0"`
}

// Dir is the folder of a sqlite store.
func (s Store) Dir() string { return filepath.Clean(strings.TrimPrefix(s.URL, "sqlite:")) }

// NATS is the transport: a server inside the process, or the URL of others.
type NATS struct {
	Embedded *Embedded `yaml:"embedded,omitempty"`
	// URL of servers outside, several with commas. Excludes embedded. It
	// holds no credentials.
	URL string `yaml:"url,omitempty"`
	// CredsFile, NkeyFile (a seed), or User and Password prove who we are; one of
	// them is needed with url. causeway nats acl prints what the user may do.
	CredsFile string `yaml:"creds_file,omitempty"`
	NkeyFile  string `yaml:"nkey_file,omitempty"`
	User      string `yaml:"user,omitempty"`
	Password  Secret `yaml:"password,omitempty"`
	// Replicas of each stream outside: 1, 3 or 5. [3]
	Replicas int `yaml:"replicas,omitempty" validate:"omitempty,oneof=1 3 5"`
	// CA holds the authorities, in PEM, that the servers' certificates are checked
	// against. [those of the system] Cert and Key are our own certificate, where the
	// servers want one. All are used with addresses that begin with tls.
	CA   string `yaml:"ca,omitempty"`
	Cert string `yaml:"cert,omitempty" validate:"required_with=Key"`
	Key  string `yaml:"key,omitempty" validate:"required_with=Cert"`
}

// Embedded is the NATS server inside the process.
type Embedded struct {
	// Dir holds the streams. ["nats" in the store's folder]
	Dir string `yaml:"dir"`
	// Listen is host:port for workers; "" for none. ["127.0.0.1:4222"] It is
	// never anonymous: with no users, one for each application and one for
	// all, "worker", are made at start, with passwords in the data folder; on an address that others can reach, users are needed here.
	Listen string `yaml:"listen" validate:"omitempty,listen"`
	// Users may connect at Listen.
	Users []NATSUser `yaml:"users,omitempty" validate:"dive"`
	// TLS makes everybody at Listen use it. [none: passwords cross the network as
	// they are]
	TLS *NATSTLS `yaml:"tls,omitempty"`
}

// NATSTLS names the files of the certificate of nats.embedded.listen, in PEM. They
// are read again when they change.
type NATSTLS struct {
	Cert string `yaml:"cert" validate:"required"`
	Key  string `yaml:"key" validate:"required"`
}

// NATSUser is a worker or an observer at the embedded server.
type NATSUser struct {
	Name string `yaml:"name" validate:"required,name"`
	// Password has at least 8 characters.
	Password Secret `yaml:"password" validate:"required,min=8"`
	// Apps are the applications whose events the user takes and answers.
	Apps []string `yaml:"apps,omitempty"`
	// Observe lets the user read the copies of all events and results. [false]
	Observe bool `yaml:"observe,omitempty"`
	// Send are the accounts, and the pools as "pool:" and their names, from which the
	// user may write to anybody, by request on cw.send.<account>. [none]
	Send []string `yaml:"send,omitempty"`
}

// Endpoint is one callback URL, /webhooks/{platform}/{name}, with the
// credentials that prove a callback. The previous ones stay valid beside the
// current ones until they are removed.
type Endpoint struct {
	Name     string `yaml:"name" validate:"required,name"`
	Platform string `yaml:"platform" validate:"required,oneof=whatsapp wecom unified"`

	// WhatsApp: the Meta app's secret, and the text typed into its dashboard.
	AppSecret         Secret `yaml:"app_secret,omitempty" validate:"required_if=Platform whatsapp,excluded_unless=Platform whatsapp"`
	AppSecretPrevious Secret `yaml:"app_secret_previous,omitempty" validate:"excluded_unless=Platform whatsapp"`
	VerifyToken       Secret `yaml:"verify_token,omitempty" validate:"required_if=Platform whatsapp,excluded_unless=Platform whatsapp"`
	// MTLS refuses callbacks without a client certificate as tls.client_ca and
	// tls.client_cn ask for, beside the signature. [false] It cannot be seen
	// behind a proxy that ends TLS.
	MTLS bool `yaml:"mtls,omitempty" validate:"excluded_unless=Platform whatsapp"`

	// WeCom: the kind of receiver (app, which customer service uses as well; suite
	// for a suite's command URL; aibot for an intelligent robot), whom callbacks are
	// addressed to (the corp id or suite id; nobody for a robot), and the pair shown
	// in the console.
	Kind                   string   `yaml:"kind,omitempty" validate:"required_if=Platform wecom,excluded_unless=Platform wecom,omitempty,oneof=app suite aibot"`
	ReceiveIDs             []string `yaml:"receive_ids,omitempty" validate:"excluded_unless=Platform wecom,dive,required"`
	Token                  Secret   `yaml:"token,omitempty" validate:"required_if=Platform wecom,excluded_unless=Platform wecom"`
	EncodingAESKey         Secret   `yaml:"encoding_aes_key,omitempty" validate:"required_if=Platform wecom,excluded_unless=Platform wecom,omitempty,aeskey"`
	TokenPrevious          Secret   `yaml:"token_previous,omitempty" validate:"excluded_unless=Platform wecom"`
	EncodingAESKeyPrevious Secret   `yaml:"encoding_aes_key_previous,omitempty" validate:"excluded_unless=Platform wecom,omitempty,aeskey"`

	// Unified, a vendor's gateway whose callbacks are JSON: what proves one, how it is
	// read, and the text that the vendor wants to read in the answer. [empty]
	Verify *Verification     `yaml:"verify,omitempty" validate:"required_if=Platform unified,excluded_unless=Platform unified"`
	Decode *unified.Decoding `yaml:"decode,omitempty" validate:"required_if=Platform unified,excluded_unless=Platform unified"`
	Answer string            `yaml:"answer,omitempty" validate:"excluded_unless=Platform unified,max=256"`
}

// Account is one sender. Its name is for ever: subjects and events carry it.
type Account struct {
	Name     string `yaml:"name" validate:"required,name"`
	Platform string `yaml:"platform" validate:"required,oneof=whatsapp wecom unified"`
	// APIBase is the platform's address; https, or http on this machine.
	// ["https://graph.facebook.com", "https://qyapi.weixin.qq.com"; none for unified]
	APIBase string `yaml:"api_base,omitempty" validate:"omitempty,url"`

	// Proxy is what every call for the account goes through, media included:
	// http://, https:// or socks5://, with user and password if it wants them. [none]
	Proxy Secret `yaml:"proxy,omitempty"`
	// Pace bounds how fast messages leave. [the platform's numbers]
	Pace *Pace `yaml:"pace,omitempty"`
	// Retry replaces fields of send for this account; what is left out, or 0, is
	// send's. (An account's own send describes a vendor's calls.)
	Retry *Retry `yaml:"retry,omitempty"`
	// Takeover is what happens when a colleague writes to a customer by hand.
	Takeover Takeover `yaml:"takeover"`
	// OnUnknown is what happens when nobody could tell within the wait for evidence
	// whether a message arrived: continue with the next task; hold the conversation for
	// HoldUnknown, or until a person or a status settles it; or resend_once, which may
	// bring it to the customer twice. [continue]
	OnUnknown   string        `yaml:"on_unknown" validate:"omitempty,oneof=continue hold resend_once"`
	HoldUnknown time.Duration `yaml:"hold_unknown" validate:"omitempty,min=1s,max=720h"` // [1h]

	// WhatsApp.
	PhoneNumberID string `yaml:"phone_number_id,omitempty" validate:"required_if=Platform whatsapp,excluded_unless=Platform whatsapp"`
	WABAID        string `yaml:"waba_id,omitempty" validate:"excluded_unless=Platform whatsapp"`
	AccessToken   Secret `yaml:"access_token,omitempty" validate:"required_if=Platform whatsapp,excluded_unless=Platform whatsapp"`
	// OutsideWindow is an approved template without parameters that goes to a customer
	// in place of a reply which comes more than 24 hours after their last message. [none]
	// The reply itself is a dead letter "window", to be requeued once they wrote again.
	OutsideWindow *TemplateName `yaml:"outside_window,omitempty" validate:"excluded_unless=Platform whatsapp"`

	// WeCom: app is a self-built app, kf an account of WeChat customer service,
	// aibot an intelligent robot, robot the webhook of a group, which only sends.
	Kind string `yaml:"kind,omitempty" validate:"required_if=Platform wecom,excluded_unless=Platform wecom,omitempty,oneof=app kf aibot robot"`
	// CorpID and Secret are those of an app, for kf of the self-built app that the
	// customer service account is granted to.
	CorpID string `yaml:"corp_id,omitempty" validate:"excluded_unless=Platform wecom"`
	Secret Secret `yaml:"secret,omitempty" validate:"excluded_unless=Platform wecom"`
	// AgentID names an app, OpenKfID a customer service account, BotID a robot.
	AgentID  int64  `yaml:"agent_id,omitempty" validate:"excluded_unless=Platform wecom,min=0"`
	OpenKfID string `yaml:"open_kfid,omitempty" validate:"excluded_unless=Platform wecom"`
	BotID    string `yaml:"bot_id,omitempty" validate:"excluded_unless=Platform wecom"`
	// Welcome is what a robot (aibot) tells a member who enters its chat for the
	// first time of a day, at most 2048 bytes. [nothing] WeCom wants it within five
	// seconds, so no application is asked.
	Welcome string `yaml:"welcome,omitempty" validate:"excluded_unless=Platform wecom,max=2048"`
	// Feedback lets people judge a robot's answers: what they say is a notice
	// event.feedback_event whose quoted_id is the event that was answered. [false]
	Feedback bool `yaml:"feedback,omitempty" validate:"excluded_unless=Platform wecom"`
	// Key is the key of a group's webhook, the last part of its address.
	Key Secret `yaml:"key,omitempty" validate:"excluded_unless=Platform wecom"`

	// Unified: the vendor's id of our side, as the decoding of its endpoint finds it;
	// how messages are sent, and the headers of every call, which hold the
	// credentials. [no send: the account only receives]
	GUID    string           `yaml:"guid,omitempty" validate:"required_if=Platform unified,excluded_unless=Platform unified,max=256"`
	Headers []Header         `yaml:"headers,omitempty" validate:"excluded_unless=Platform unified,dive"`
	Send    *unified.Sending `yaml:"send,omitempty" validate:"excluded_unless=Platform unified"`
	// MediaHosts are where the files may lie whose addresses callbacks name
	// (media_url): names, "*.name" for all below one, called by https; or the host and
	// port of api_base, called as that is. MediaHeader goes with each such call, but
	// not to what is below a "*". [none: no file of the account is fetched]
	MediaHosts  []string `yaml:"media_hosts,omitempty" validate:"excluded_unless=Platform unified"`
	MediaHeader *Header  `yaml:"media_header,omitempty" validate:"excluded_unless=Platform unified"`
}

// Takeover lets a colleague who writes by hand (in the WhatsApp Business app, in WeCom,
// at a vendor's) have the conversation for a while: replies of applications are held
// meanwhile. In the file it may be written as its time alone.
type Takeover struct {
	// For is how long after the colleague's last message; 0 for not at all. [30m]
	For time.Duration `yaml:"for" config:"short" validate:"min=0s,max=168h"`
	// Then is what becomes of the held replies: drop, since they are stale, or send.
	// [drop] Messages that were requested (causeway send) leave then in any case.
	Then string `yaml:"then" validate:"omitempty,oneof=drop send"`
}

// TemplateName names an approved template of WhatsApp.
type TemplateName struct {
	Template string `yaml:"template" validate:"required,max=512"`
	Language string `yaml:"language" validate:"required,max=16"`
}

// Application is one consumer of events.
type Application struct {
	Name string `yaml:"name" validate:"required,name"`
	// Builtin "echo" is a bot inside the gateway that repeats what it is told,
	// for trying. [none: workers attach by NATS]
	Builtin string `yaml:"builtin,omitempty" validate:"omitempty,oneof=echo"`
	// URL makes an HTTP endpoint the application's worker: every event is posted
	// there. https, or http on this machine; excludes builtin. [none]
	URL string `yaml:"url,omitempty"`
	// Secret signs what is posted, after Standard Webhooks: "whsec_" and base64.
	// SecretPrevious signs beside it while the bot changes over. [none]
	Secret         Secret `yaml:"secret,omitempty"`
	SecretPrevious Secret `yaml:"secret_previous,omitempty"`
	// Headers go along with every request, for endpoints that want a key. [none]
	Headers []Header `yaml:"headers,omitempty" validate:"dive"`
	// ContentType names the body; n8n, Dify and the like read application/json only,
	// which it is as well. ["application/cloudevents+json"]
	ContentType string `yaml:"content_type,omitempty" validate:"omitempty,oneof=application/cloudevents+json application/json"`
	// Insecure allows http to other machines. [false]
	Insecure bool `yaml:"insecure,omitempty"`
	// Concurrency is how many events, of different conversations, are with the
	// endpoint at one moment, those that it answers later (202) included. [16]
	Concurrency int `yaml:"concurrency,omitempty" validate:"min=0,max=1000"`
	// Timeout is how long a request may take, AnswerBy how long the answer may when
	// the endpoint said 202. Then a try has failed. [30s, 5m]
	Timeout  time.Duration `yaml:"timeout,omitempty" validate:"min=0s,max=1h"`
	AnswerBy time.Duration `yaml:"answer_by,omitempty" validate:"min=0s,max=24h"`
	// Platforms, Accounts, Kinds and Chats are the filter. [every platform,
	// every account, [message], [single]]
	Platforms []string `yaml:"platforms,omitempty" validate:"dive,oneof=whatsapp wecom unified"`
	Accounts  []string `yaml:"accounts,omitempty"`
	Kinds     []string `yaml:"kinds,omitempty" validate:"dive,orderedkind"`
	Chats     []string `yaml:"chats,omitempty" validate:"dive,oneof=single group account"`
	// Tries is how often a failing event is handed out before it is a dead
	// letter. [4]
	Tries int `yaml:"tries" validate:"min=1,max=100"`
	// Delays are the waits between tries; the last one repeats. [1s, 5s, 30s]
	Delays []time.Duration `yaml:"delays" validate:"dive,min=0s,max=24h"`
	// OnExhausted says what happens then: skip makes a dead letter and the
	// conversation goes on; with block the conversation waits, and the event is tried
	// on, until a try fails that is the last of BlockTries in all, or BlockFor or more
	// after the tries were spent. [skip, 10m, 20]
	OnExhausted string        `yaml:"on_exhausted" validate:"oneof=skip block"`
	BlockFor    time.Duration `yaml:"block_for" validate:"min=1s,max=720h"`
	BlockTries  int           `yaml:"block_tries" validate:"min=1,max=100000"`
	// AckWait is how long the broker waits for a worker's word. [30s]
	AckWait time.Duration `yaml:"ack_wait" validate:"min=1s,max=1h"`
	// HandlerMax is how long a worker may take for one event. [10m]
	HandlerMax time.Duration `yaml:"handler_max" validate:"min=1s,max=24h,gtefield=AckWait"`
	// AnswerWithin: a message that was recovered, since a key was mended, an account
	// added, or a dead letter requeued that never was an event, is handed out if it is
	// no older than this and still the last word of its conversation; else it is
	// recorded and listed (causeway conv unanswered). 0 means whatever its age.
	// Observers are handed all. [30m]
	AnswerWithin time.Duration `yaml:"answer_within" validate:"min=0s"`
	// From is where the application begins when it is first seen, or comes back
	// after it was removed: now, beginning, or a time such as 2026-11-30T08:00:00Z,
	// from which on events were received. [now]
	From string `yaml:"from" validate:"from"`
	// StaleAfter: an event older than this when its turn comes is a dead
	// letter "stale"; 0 means never. [0s]
	StaleAfter time.Duration `yaml:"stale_after" validate:"min=0s"`
	// Collect hands out what somebody writes in several messages as one delivery with
	// one answer. [none: every message by itself]
	Collect *Collect `yaml:"collect,omitempty"`
	// Replies false makes an observer: what it answers is not sent. [true]
	Replies bool `yaml:"replies"`
	// InTakeover says what becomes of events of a conversation that a colleague has:
	// offer them, marked with takeover, or skip them: settled, reason takeover. [offer]
	InTakeover string `yaml:"in_takeover" validate:"omitempty,oneof=offer skip"`
	// AckDone lets an ack without an answer count as done. [false]
	AckDone bool `yaml:"ack_done"`
}

// Collect says when the messages that wait in a conversation are handed out together.
type Collect struct {
	// Wait is for how long the conversation must have been quiet. [3s]
	Wait time.Duration `yaml:"wait" validate:"min=100ms,max=5m"`
	// Max is how many messages go together at most. [20]
	Max int `yaml:"max" validate:"min=2,max=100"`
	// Longest is how long the first of them waits for the last one. [four times wait]
	Longest time.Duration `yaml:"longest" validate:"gtefield=Wait,max=1h"`
}

// Dedup says per kind what becomes of an event that came before: strict drops it as
// a duplicate, relaxed counts it and hands it out as an event of its own.
type Dedup struct {
	Message string `yaml:"message" validate:"oneof=strict relaxed"` // [strict]
	Change  string `yaml:"change" validate:"oneof=strict relaxed"`  // [strict]
	State   string `yaml:"state" validate:"oneof=strict relaxed"`   // [strict]
	Notice  string `yaml:"notice" validate:"oneof=strict relaxed"`  // [strict]
}

// Limits bound what callers may cost.
type Limits struct {
	// Body is the largest callback taken. Meta documents up to 3 MB. [3328KiB]
	Body Bytes `yaml:"body" validate:"min=65536,max=67108864"`
	// BodyMemory bounds all large bodies being read at one moment. [64MiB]
	BodyMemory Bytes `yaml:"body_memory" validate:"min=1048576,gtefield=Body"`
	// HeaderTimeout, ReadTimeout and IdleTimeout are the patience with a
	// connection: its header, its whole request, between requests. [5s, 10s, 60s]
	HeaderTimeout time.Duration `yaml:"header_timeout" validate:"min=100ms,max=1m"`
	ReadTimeout   time.Duration `yaml:"read_timeout" validate:"min=100ms,max=5m,gtefield=HeaderTimeout"`
	IdleTimeout   time.Duration `yaml:"idle_timeout" validate:"min=1s,max=10m"`
	// AckTimeout is how long the archive may take before the platform is told
	// to come again; WeCom hangs up after 5 s. [3.5s]
	AckTimeout time.Duration `yaml:"ack_timeout" validate:"min=100ms,max=4.5s"`
	// RejectStore bounds what is kept of callbacks that did not verify.
	RejectStore RejectStore `yaml:"reject_store"`
}

// RejectStore bounds the store of refused callbacks; the oldest go first.
type RejectStore struct {
	Size  Bytes         `yaml:"size" validate:"min=0"`  // of all bodies [64MiB]
	Count int           `yaml:"count" validate:"min=0"` // [10000]
	Age   time.Duration `yaml:"age" validate:"min=0s"`  // [168h]
}

// Media is what is done with the files of messages. They are kept in the folder
// "media" of the store's folder.
type Media struct {
	// Fetch brings the files that customers send into the store while their
	// platform has them: 7 days at WhatsApp, 3 at WeCom, after which they are lost.
	// [true]
	Fetch bool `yaml:"fetch"`
	// MaxSize is the largest file taken, from a platform or to be sent. Meta
	// takes and hands out up to 100 MB. [100MiB]
	MaxSize Bytes `yaml:"max_size" validate:"min=1024,max=2147483648"`
	// Timeout is how long one file may take, IdleTimeout how long a platform may
	// be silent meanwhile. Both are tried again. [5m, 30s]
	Timeout     time.Duration `yaml:"timeout" validate:"min=1s,max=1h"`
	IdleTimeout time.Duration `yaml:"idle_timeout" validate:"min=100ms,max=10m"`
	// Parallel is how many files are fetched at one moment, PerAccount how many
	// of one account. [8, 4]
	Parallel   int `yaml:"parallel" validate:"min=1,max=256"`
	PerAccount int `yaml:"per_account" validate:"min=1,max=256"`
}

// Log is what is written to standard error.
type Log struct {
	// Level is debug, info, warn or error. [info]
	Level string `yaml:"level" validate:"oneof=debug info warn error"`
	// Format is json or console. [json]
	Format string `yaml:"format" validate:"oneof=json console"`
}
