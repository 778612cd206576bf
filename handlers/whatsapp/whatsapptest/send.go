package whatsapptest

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/time/rate"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// routes are the paths of the fake platform.
func (s *Sandbox) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{version}/{id}/messages", s.messages)
	mux.HandleFunc("GET /{version}/debug_token", s.debugToken)
	mux.HandleFunc("GET /{version}/{id}", s.fileOrNode)
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		mux.HandleFunc(method+" /{version}/{id}/subscribed_apps", s.subscriptions)
	}
	s.mediaRoutes(mux)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, 2500, http.StatusBadRequest, "Unknown path components")
	})
	control := s.control()
	// Told apart before the mux, whose patterns for both would conflict.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, sandbox.ControlPrefix) {
			control.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// address is the recipient of a call: as written, as Meta knows it.
type address struct {
	input string
	waID  string // empty for a BSUID
	user  string // BSUID; empty for a group
	group bool
	gone  bool // somebody left this number or id
}

// messages takes a send call, or the marking of a message as read.
func (s *Sandbox) messages(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	if code, status, why := s.admit(r); code >= 0 {
		writeError(w, code, status, why)
		return
	}
	b, o := readBody(r, raw)
	if o != nil {
		a := object(o)
		s.desk.Take(w, r, sandbox.OpSend, sandbox.Call{Account: s.o.PhoneNumberID}, func() sandbox.Answer { return a }, refuse)
		return
	}
	if b.Status != "" || b.MessageID != "" {
		call := sandbox.Call{Account: s.o.PhoneNumberID, Type: "read"}
		s.desk.Take(w, r, sandbox.OpSend, call, func() sandbox.Answer { return s.markedRead(b) }, refuse)
		return
	}
	to := s.address(b)
	m := sending{body: b, to: to}
	m.words, m.voice, m.objection = s.content(b, to)
	m.target = reactedTo(b)
	call := sandbox.Call{Account: s.o.PhoneNumberID, Type: or(b.Type, "text"), To: strings.TrimPrefix(to.input, "+"), Text: m.words, Marker: b.Marker}
	s.desk.Take(w, r, sandbox.OpSend, call, func() sandbox.Answer { return s.judge(&m) }, refuse)
}

// readBody reads a call; a key that Meta does not know is an invalid parameter.
func readBody(r *http.Request, raw []byte) (*sendBody, *objection) {
	var b sendBody
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if media != "application/json" || !json.Valid(raw) {
		return nil, &objection{100, "The parameter messaging_product is required."}
	}
	if o := part("the body", raw, &b); o != nil {
		return nil, o
	}
	if b.Product != "whatsapp" {
		return nil, &objection{100, "The parameter messaging_product is required."}
	}
	return &b, nil
}

// markedRead answers the marking of a message as read. No status follows.
func (s *Sandbox) markedRead(b *sendBody) sandbox.Answer {
	switch o := markRead(b); {
	case o != nil:
		return object(o)
	case s.unknownMessage(b.MessageID):
		return object(wrong("message_id", "is of no message of this number"))
	}
	return sandbox.Answer{Status: http.StatusOK, Header: jsonHeader(), Body: []byte(`{"success":true}`), Accepted: true}
}

// sending is a send call as it was understood.
type sending struct {
	body      *sendBody
	to        address
	words     string
	voice     bool
	target    string     // of a reaction
	objection *objection // to its content
}

// admit checks token and path; code -1 is fine.
func (s *Sandbox) admit(r *http.Request) (code, status int, why string) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case !ok || token == "":
		return 104, http.StatusUnauthorized, "An access token is required to request this resource."
	case subtle.ConstantTimeCompare([]byte(token), []byte(s.o.AccessToken)) != 1:
		return 190, http.StatusUnauthorized, "Invalid OAuth access token - Cannot parse access token"
	case !validVersion(r.PathValue("version")):
		return 2500, http.StatusBadRequest, "Unknown path components"
	case r.PathValue("id") != s.o.PhoneNumberID:
		return 33, http.StatusBadRequest, "Unsupported post request. Object does not exist or cannot be loaded due to missing permissions"
	}
	return -1, 0, ""
}

// validVersion accepts "v" and a number with one decimal.
func validVersion(v string) bool {
	major, minor, ok := strings.Cut(strings.TrimPrefix(v, "v"), ".")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	return ok && strings.HasPrefix(v, "v") && digits(major) && digits(minor)
}

// address reads the recipient; `to` wins over `recipient`.
func (s *Sandbox) address(b *sendBody) address {
	switch {
	case b.RecipientType == "group":
		return address{input: b.To, waID: b.To, group: true}
	case b.To != "":
		waID := strings.TrimPrefix(b.To, "+")
		if s.o.WaID != nil {
			if known := s.o.WaID(waID); known != "" {
				waID = known
			}
		}
		return s.people.reached(address{input: b.To, waID: waID})
	default:
		return s.people.reached(address{input: b.Recipient, user: b.Recipient})
	}
}

// judge is Meta's decision on a message.
func (s *Sandbox) judge(m *sending) sandbox.Answer {
	b, to := m.body, m.to
	switch {
	case b.RecipientType != "" && b.RecipientType != "individual" && b.RecipientType != "group":
		return object(invalid("recipient_type", "must be individual or group"))
	case to.input == "":
		return object(missingPart("to or recipient"))
	case !to.group && to.waID != "" && !phoneNumber(to.waID), to.waID == "" && !isBSUID(to.user):
		return object(wrong("to", "must be a phone number, recipient a BSUID"))
	case to.waID == s.o.DisplayNumber:
		return refuse(131021, 0)
	case utf8.RuneCountInString(b.Marker) > 512:
		return object(invalid("biz_opaque_callback_data", "must be at most 512 characters"))
	case m.objection != nil:
		return object(m.objection)
	case to.group && !slices.Contains([]string{"", "text", "image", "audio", "video", "document", "sticker", "template"}, b.Type):
		return object(&objection{131051, "groups take texts, media and templates only"})
	case to.group && s.unknownGroup(to.input):
		return refuse(131041, 0)
	case to.group && len(s.people.participants(to.input)) == 0:
		return refuse(131020, 0)
	}
	if o := quoted(b); o != nil {
		return object(o)
	}
	if s.rules.Load().Pair && !s.pairAllows(to.input) {
		return refuse(131056, 0)
	}
	later := s.laterFailure(m)
	id := s.wamid(to.waID, true)
	message := map[string]string{"id": id}
	if status := s.messageStatus(b); status != "" {
		message["message_status"] = status
	}
	body, err := json.Marshal(map[string]any{"messaging_product": "whatsapp", "contacts": []any{contactOf(to)}, "messages": []any{message}})
	if err != nil {
		return refuse(131000, 0)
	}
	return sandbox.Answer{
		Status: http.StatusOK, Header: jsonHeader(), Body: body, Accepted: true, MessageID: id,
		Taken: func(a sandbox.Aftermath) {
			if a.FailCode == 0 {
				a.FailCode = later
			}
			s.queueStatuses(taken{id: id, marker: b.Marker, to: to, kind: b.Type, voice: m.voice}, a)
		},
	}
}

func contactOf(to address) map[string]string {
	c := map[string]string{"input": to.input}
	if to.waID != "" {
		c["wa_id"] = to.waID
	}
	if to.user != "" {
		c["user_id"] = to.user
	}
	return c
}

// pairAllows keeps the account of one recipient: a message in 6 s, 45 lent.
// Source: Meta, "About the platform", pair rate limits.
func (s *Sandbox) pairAllows(to string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.pairs[to]
	if l == nil {
		l = rate.NewLimiter(rate.Limit(1.0/6), 45)
		s.pairs[to] = l
	}
	return l.AllowN(s.o.Now(), 1)
}

func phoneNumber(s string) bool {
	return len(s) >= 7 && len(s) <= 15 && strings.Trim(s, "0123456789") == ""
}

// BSUID is the business-scoped user id that this sandbox gives a phone number.
func BSUID(waID string) string {
	sum := sha256.Sum256([]byte("bsuid:" + waID))
	digits := make([]byte, 20)
	for i := range digits {
		digits[i] = '0' + sum[i]%10
	}
	digits[0] = '1' + sum[0]%9
	return "US." + string(digits)
}
