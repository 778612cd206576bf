package unifiedtest

import (
	"crypto/subtle"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/causewayhq/causeway/handlers/sandbox"
	"github.com/causewayhq/causeway/handlers/unified"
)

// send takes a call of the API.
func (s *Sandbox) send(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	var said unified.Sent
	fits := false
	if s.o.Account.Sending != nil {
		said, fits = s.o.Account.Sending.Read(r.Method, r.URL.Path, body)
	}
	call := sandbox.Call{Account: s.o.Account.GUID, Type: said.Type, To: said.To, Text: said.Text, Marker: said.Marker}
	s.desk.Take(w, r, sandbox.OpSend, call, func() sandbox.Answer {
		switch {
		case !s.proven(r):
			return s.refuse(http.StatusUnauthorized, 0)
		case !fits:
			return s.refuse(1001, 0)
		case said.To == "" || said.GUID != "" && said.GUID != s.o.Account.GUID:
			return s.refuse(1002, 0)
		}
		id := s.nextID("sent")
		a := s.answer(id, "", "ok")
		a.Accepted, a.MessageID = true, id
		a.Taken = func(m sandbox.Aftermath) { s.playBack(id, said, m) }
		return a
	}, s.refuse)
}

// proven says whether a call has every header of the account.
func (s *Sandbox) proven(r *http.Request) bool {
	for _, h := range s.o.Account.Headers {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get(h.Name)), []byte(h.Value)) != 1 {
			return false
		}
	}
	return true
}

func (s *Sandbox) answer(id, code, message string) sandbox.Answer {
	body := []byte(`{}`)
	if s.o.Account.Sending != nil {
		body = s.o.Account.Sending.Answer.Compose(id, code, message)
	}
	return sandbox.Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}
}

// refuse is the vendor's refusal with a code, under status or, for 0, 200.
func (s *Sandbox) refuse(code, status int) sandbox.Answer {
	a := s.answer("", strconv.Itoa(code), "refused by the sandbox")
	if a.Code = strconv.Itoa(code); status != 0 {
		a.Status = status
	}
	return a
}

// playBack calls back with a message that was taken, or with its failure.
func (s *Sandbox) playBack(id string, said unified.Sent, m sandbox.Aftermath) {
	plays := *s.plays.Load()
	if plays == PlaysNothing || m.NoStatuses {
		return
	}
	f := s.ours(said.To, said.Text)
	f.MessageID, f.SentID, f.Marker = id, id, said.Marker
	if f.Type = said.Type; f.Type == "" {
		f.Type = "text"
	}
	f.MediaURL, f.MediaID, f.MediaName, f.MediaMIME = said.URL, said.MediaID, said.Name, said.MIME
	switch plays {
	case PlaysMarker, PlaysNothing:
	case PlaysID:
		f.Marker = ""
	case PlaysManual:
		f.Marker, f.MessageID, f.SentID = "", s.nextID("m"), ""
	}
	if m.FailCode != 0 {
		f.ErrorCode = strconv.Itoa(m.FailCode)
	}
	s.tell(f, s.o.EchoAfter)
}

func (s *Sandbox) nextID(kind string) string {
	return fmt.Sprintf("%s-%s-%d", kind, s.origin, s.ids.Add(1))
}
