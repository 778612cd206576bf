package stream

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/causewayhq/causeway/gateway"
)

// settingsRevision grows when the settings in this file change. A stream that a
// newer binary has set is left as it is by an older one.
const settingsRevision = 2

// Keys in the metadata of streams and consumers.
const (
	metaStore      = "causeway.store"
	metaEpoch      = "causeway.epoch"
	metaRevision   = "causeway.settings"
	MetaHandlerMax = "causeway.handler_max" // of a gate's consumer: a Go duration
)

const (
	duplicateWindow = 2 * time.Minute // the ledger knows better
	replyAge        = 48 * time.Hour
	resultAge       = 14 * 24 * time.Hour
	eventAge        = 7 * 24 * time.Hour
	advisoryAge     = 7 * 24 * time.Hour
	maxWaiting      = 8192 // open pull requests of all workers of a gate
	defaultAckWait  = 30 * time.Second
)

// Sizes are the MaxBytes of the streams. A broker reserves them, so their sum
// must fit into its storage limit.
type Sizes struct {
	Event, Reply, Result, Advisory, State int64
	Ready                                 int64 // of each gate
}

// DefaultSizes shares a storage limit (bytes; 0 means 1 GiB) out: a third to the
// gates, a quarter each to events and answers, a tenth to results, a fortieth to
// states, the rest is air. It leaves room for gates of at least eight applications.
func DefaultSizes(limit int64, apps int) Sizes {
	if limit <= 0 {
		limit = 1 << 30
	}
	return Sizes{
		Event:    limit / 4,
		Reply:    limit / 4,
		Result:   limit / 10,
		Advisory: min(16<<20, limit/50),
		State:    limit / 40,
		Ready:    limit / 3 / int64(max(apps, 8)),
	}
}

// part is a stream with its consumer, made and healed together.
type part struct {
	stream   jetstream.StreamConfig
	consumer *jetstream.ConsumerConfig
	app      string // of a gate
}

func (o *Options) base(name string, subjects ...string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:       name,
		Subjects:   subjects,
		Storage:    jetstream.FileStorage,
		Retention:  jetstream.LimitsPolicy,
		Discard:    jetstream.DiscardOld,
		Replicas:   o.Replicas,
		Duplicates: duplicateWindow,
		MaxMsgs:    -1,
		MaxMsgSize: -1,
		// A number instead of -1, which since 2.15 means the server's default
		// of 1,000 where that is not lifted.
		MaxConsumers:      1_000_000,
		MaxMsgsPerSubject: -1,
		AllowDirect:       true,
		Metadata: map[string]string{
			metaStore:    o.StoreID,
			metaEpoch:    strconv.FormatInt(o.Epoch, 10),
			metaRevision: strconv.Itoa(settingsRevision),
		},
	}
}

func (o *Options) eventPart() *part {
	c := o.base(EventStream, "cw.event.*.*.*.*")
	c.MaxAge, c.MaxBytes = eventAge, o.Sizes.Event
	c.Description = "events, for observers; the ledger has them"
	return &part{stream: c}
}

func (o *Options) replyPart() *part {
	c := o.base(ReplyStream, "cw.reply.*.*.*.*")
	c.MaxAge, c.MaxBytes, c.Discard = replyAge, o.Sizes.Reply, jetstream.DiscardNew
	c.Description = "answers of workers"
	return &part{stream: c}
}

func (o *Options) resultPart() *part {
	c := o.base(ResultStream, "cw.result.*.*.*")
	c.MaxAge, c.MaxBytes = resultAge, o.Sizes.Result
	c.Description = "changes of messages, for observers; the ledger has them"
	return &part{stream: c}
}

// statePart is the bucket of states: one message per key, the newest. What JetStream
// wants of a key-value bucket is described in ADR-8. When it is full the oldest keys
// go, since it is a copy; who misses one asks the gateway.
func (o *Options) statePart() *part {
	c := o.base(StateStream, "$KV."+StateBucket+".>")
	c.MaxBytes, c.MaxMsgsPerSubject = o.Sizes.State, 1
	c.AllowRollup, c.DenyDelete = true, true
	c.Description = "state of conversations and customers; the ledger has it"
	return &part{stream: c}
}

// advisoryPart captures what the broker says when a delivery limit is reached:
// an advisory is a plain message and gone when nobody listens. A name in the
// middle of a token is no wildcard, so there is a subject for each application.
func (o *Options) advisoryPart(apps []gateway.Application) *part {
	subjects := make([]string, 0, len(apps)+1)
	for i := range apps {
		subjects = append(subjects, advisorySubject(apps[i].Name))
	}
	if len(subjects) == 0 { // a stream without subjects would listen on its name
		subjects = append(subjects, advisorySubject("none"))
	}
	c := o.base(AdvisoryStream, subjects...)
	c.Retention, c.MaxAge, c.MaxBytes = jetstream.WorkQueuePolicy, advisoryAge, o.Sizes.Advisory
	c.Description = "offers the broker gave up on"
	return &part{stream: c, consumer: &jetstream.ConsumerConfig{
		Durable:       advisoryConsumer,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       advisoryAckWait,
		DeliverPolicy: jetstream.DeliverAllPolicy,
		MaxDeliver:    -1,
		MaxAckPending: 1, // in order; one that fails is tried again before the next
		MaxWaiting:    512,
		Replicas:      o.Replicas,
	}}
}

const (
	advisoryConsumer = "gateway"
	// advisoryAckWait is how long a word waits for the next gateway when one dies
	// with it. Burying takes some milliseconds; one that is heard twice is found
	// done.
	advisoryAckWait = 5 * time.Second
)

func advisorySubject(app string) string {
	return "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES." + ReadyName(app) + "." + app
}

// readyPart is the gate: the second event of a conversation cannot enter before
// the first has left, whoever the workers are. All workers of the application
// share its one consumer.
func (o *Options) readyPart(app *gateway.Application) *part {
	c := o.base(ReadyName(app.Name), offersOf(app.Name), anchorOf(app.Name))
	c.Retention, c.MaxBytes, c.Discard = jetstream.WorkQueuePolicy, o.Sizes.Ready, jetstream.DiscardNew
	c.MaxMsgsPerSubject, c.DiscardNewPerSubject = 1, true
	c.Description = "the head of every conversation for application " + app.Name
	ackWait := app.AckWait
	if ackWait <= 0 {
		ackWait = defaultAckWait
	}
	consumer := &jetstream.ConsumerConfig{
		Durable:       app.Name,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       ackWait,
		DeliverPolicy: jetstream.DeliverAllPolicy,
		FilterSubject: offersOf(app.Name),
		MaxDeliver:    app.MaxDeliver(),
		MaxAckPending: -1, // put-off messages must not hold all slots
		MaxWaiting:    maxWaiting,
		Replicas:      o.Replicas,
	}
	if app.HandlerMax > 0 {
		consumer.Metadata = map[string]string{MetaHandlerMax: app.HandlerMax.String()}
	}
	return &part{stream: c, consumer: consumer, app: app.Name}
}

// mergeStream brings a stream that exists to the wanted settings and says
// whether anything changes. What the server refuses to change (storage,
// retention) and what it added stays.
func mergeStream(have, want jetstream.StreamConfig) (jetstream.StreamConfig, bool) {
	if revision(have.Metadata) > settingsRevision {
		return have, false
	}
	got := have
	got.Description = want.Description
	got.Subjects = want.Subjects
	got.MaxAge, got.MaxBytes, got.MaxMsgsPerSubject = want.MaxAge, want.MaxBytes, want.MaxMsgsPerSubject
	got.Discard, got.DiscardNewPerSubject = want.Discard, want.DiscardNewPerSubject
	got.Duplicates, got.AllowDirect, got.Replicas = want.Duplicates, want.AllowDirect, want.Replicas
	got.Metadata = maps.Clone(have.Metadata)
	maps.Copy(got.Metadata, want.Metadata)
	same := slices.Equal(sorted(have.Subjects), sorted(got.Subjects)) && maps.Equal(have.Metadata, got.Metadata) &&
		have.Description == got.Description &&
		have.MaxAge == got.MaxAge && have.MaxBytes == got.MaxBytes && have.MaxMsgsPerSubject == got.MaxMsgsPerSubject &&
		have.Discard == got.Discard && have.DiscardNewPerSubject == got.DiscardNewPerSubject &&
		have.Duplicates == got.Duplicates && have.AllowDirect == got.AllowDirect && have.Replicas == got.Replicas
	return got, !same
}

// mergeConsumer does the same for a consumer. MaxWaiting cannot be changed, and
// a pause stays.
func mergeConsumer(have, want jetstream.ConsumerConfig) (jetstream.ConsumerConfig, bool) {
	got := have
	got.AckWait, got.MaxDeliver, got.MaxAckPending = want.AckWait, want.MaxDeliver, want.MaxAckPending
	got.Replicas, got.FilterSubject = want.Replicas, want.FilterSubject
	got.Metadata = maps.Clone(have.Metadata)
	delete(got.Metadata, MetaHandlerMax)
	if got.Metadata == nil {
		got.Metadata = map[string]string{}
	}
	maps.Copy(got.Metadata, want.Metadata)
	same := have.AckWait == got.AckWait && have.MaxDeliver == got.MaxDeliver &&
		have.MaxAckPending == got.MaxAckPending && have.Replicas == got.Replicas && have.FilterSubject == got.FilterSubject &&
		maps.Equal(have.Metadata, got.Metadata)
	return got, !same
}

func revision(meta map[string]string) int {
	n, _ := strconv.Atoi(meta[metaRevision])
	return n
}

func sorted(s []string) []string {
	out := slices.Clone(s)
	slices.Sort(out)
	return out
}
