package wecomtest

import (
	"errors"
	"net/http"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// control adds the paths of this platform to the shared ones:
//
//	POST /_sandbox/member    {"user","text"}          a member writes
//	POST /_sandbox/image     {"user"}                 a member sends a picture
//	POST /_sandbox/voice     {"user"}                 a member sends a voice message
//	POST /_sandbox/event     {"user","event","key"}   an event comes
//	POST /_sandbox/simulate  an Event as JSON         a callback of any kind comes
//	POST /_sandbox/kf        a KfItem as JSON: a customer or colleague writes, an event comes
//	PUT  /_sandbox/kf        {"kf","page","empty","repeated","refuse","forget","end","ring"}: see SetKfPage and its kin
//	POST /_sandbox/kf-state  {"kf","customer","state","staff"}  who has the session
//	POST /_sandbox/deliver   {"xml"}                  signed, encrypted, delivered
//	POST /_sandbox/verify                             the GET verification
//	POST /_sandbox/token     {"end":"revoked"|"expired"}
//	GET  /_sandbox/token                              how often gettoken was called
//	PUT  /_sandbox/limits    {"member": bool}         the member limit
//	PUT  /_sandbox/unknown   {"user","unknown": bool} whether a userid exists
//	PUT  /_sandbox/unseen    {"user","unseen": bool}  errcode 0 with invaliduser
//	PUT  /_sandbox/unlicensed {"user","unlicensed": bool}
//	POST /_sandbox/press     {"user","task","key"}    a button of a card is pressed
//	POST /_sandbox/media     {"kind","name","mime","body": base64}   a file of a member
//	POST /_sandbox/chat      {"chat","user"}          a chat of the app and two members
//	DELETE /_sandbox/chat    {"chat"}                 the app leaves it: 86008
//	DELETE /_sandbox/media                            all media ids end
//	PUT  /_sandbox/owner     {"customer","user"}      only this member has the customer
//	POST /_sandbox/media-faults  a MediaFault         the bytes of files are wrong
//	DELETE /_sandbox/media-faults                     they are right again
//	PUT  /_sandbox/agent     an Agent                 the app in the console
//	PUT  /_sandbox/callback  {"url"}                  where callbacks go
//
// Every errcode of every call comes with POST /_sandbox/faults: {"code": 45009},
// of uploads with {"op": "media"}.
func (s *Sandbox) control() *sandbox.Control {
	c := sandbox.NewControl(s.desk, s.courier)
	type body struct {
		User, Text, Event, Key, XML, End, URL  string
		Task, Kind, Name, MIME, Chat, Customer string
		Body                                   []byte
		Member, Unknown, Unseen, Unlicensed    bool
	}
	handle := func(pattern string, do func(*http.Request, *body) (any, error)) {
		c.Handle(pattern, func(r *http.Request) (any, error) {
			var in body
			if r.Method != http.MethodGet && r.ContentLength != 0 {
				if err := sandbox.ReadJSON(r, &in); err != nil {
					return nil, err
				}
			}
			return do(r, &in)
		})
	}
	ofMember := func(pattern string, do func(*body) any) {
		handle(pattern, func(_ *http.Request, in *body) (any, error) {
			if in.User == "" {
				return nil, errors.New("user must be set")
			}
			return do(in), nil
		})
	}
	id := func(id string) any { return map[string]string{"id": id} }
	ofMember("POST member", func(in *body) any { return id(s.Member(in.User, in.Text)) })
	ofMember("POST image", func(in *body) any { return id(s.Image(in.User)) })
	ofMember("POST voice", func(in *body) any { return id(s.Voice(in.User)) })
	ofMember("POST event", func(in *body) any {
		s.Event(in.User, in.Event, in.Key)
		return map[string]bool{"queued": true}
	})
	ofMember("PUT unknown", func(in *body) any {
		s.SetUnknown(in.User, in.Unknown)
		return map[string]bool{"unknown": in.Unknown}
	})
	ofMember("PUT unseen", func(in *body) any {
		s.SetUnseen(in.User, in.Unseen)
		return map[string]bool{"unseen": in.Unseen}
	})
	ofMember("PUT unlicensed", func(in *body) any {
		s.SetUnlicensed(in.User, in.Unlicensed)
		return map[string]bool{"unlicensed": in.Unlicensed}
	})
	handle("POST press", func(_ *http.Request, in *body) (any, error) {
		code, err := s.Press(in.User, in.Task, in.Key)
		return map[string]string{"response_code": code}, err
	})
	handle("POST media", func(_ *http.Request, in *body) (any, error) {
		if mediaLimit(in.Kind) == 0 || len(in.Body) == 0 {
			return nil, errors.New("kind must be image, voice, video or file, and body must be set")
		}
		return id(s.AddFile(in.Kind, in.Name, in.MIME, in.Body)), nil
	})
	ofMember("POST chat", func(in *body) any {
		made, ok := s.MakeChat(in.Chat, in.User, "owner")
		return map[string]any{"id": made, "made": ok}
	})
	handle("DELETE chat", func(_ *http.Request, in *body) (any, error) {
		s.LeaveChat(in.Chat)
		return map[string]bool{"left": true}, nil
	})
	handle("DELETE media", func(*http.Request, *body) (any, error) {
		s.ForgetFiles()
		return map[string]bool{"forgotten": true}, nil
	})
	c.Handle("POST media-faults", func(r *http.Request) (any, error) {
		var f MediaFault
		if err := sandbox.ReadJSON(r, &f); err != nil {
			return nil, err
		}
		return map[string]bool{"faulty": true}, s.FailMedia(f)
	})
	handle("DELETE media-faults", func(*http.Request, *body) (any, error) {
		s.ClearMediaFaults()
		return map[string]bool{"faulty": false}, nil
	})
	c.Handle("POST simulate", func(r *http.Request) (any, error) {
		var e Event
		if err := sandbox.ReadJSON(r, &e); err != nil {
			return nil, err
		}
		msgID, err := s.Tell(e)
		return id(msgID), err
	})
	s.kfControl(c)
	handle("POST deliver", func(_ *http.Request, in *body) (any, error) {
		if in.XML == "" {
			return nil, errors.New("xml must be set")
		}
		s.Deliver("message", []byte(in.XML))
		return map[string]bool{"queued": true}, nil
	})
	handle("POST verify", func(r *http.Request, _ *body) (any, error) {
		return map[string]bool{"verified": true}, s.VerifyCallback(r.Context())
	})
	handle("POST token", func(_ *http.Request, in *body) (any, error) {
		switch in.End {
		case "revoked":
			s.RevokeToken()
		case "expired":
			s.ExpireToken()
		default:
			return nil, errors.New("end must be revoked or expired")
		}
		return map[string]int{"calls": s.TokenCalls()}, nil
	})
	handle("GET token", func(*http.Request, *body) (any, error) { return map[string]int{"calls": s.TokenCalls()}, nil })
	handle("PUT limits", func(_ *http.Request, in *body) (any, error) {
		s.SetMemberLimit(in.Member)
		return map[string]bool{"member": in.Member}, nil
	})
	handle("PUT owner", func(_ *http.Request, in *body) (any, error) {
		if in.Customer == "" {
			return nil, errors.New("customer must be set; without user nobody has them")
		}
		s.SetOwner(in.Customer, in.User)
		return map[string]string{"user": in.User}, nil
	})
	c.Handle("PUT agent", func(r *http.Request) (any, error) {
		var a Agent
		err := sandbox.ReadJSON(r, &a)
		if err == nil {
			s.SetAgent(a)
		}
		return a, err
	})
	handle("PUT callback", func(_ *http.Request, in *body) (any, error) {
		s.SetCallbackURL(in.URL)
		return map[string]string{"url": in.URL}, nil
	})
	return c
}
