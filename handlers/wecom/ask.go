package wecom

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/egress"
)

// Asker asks WeCom who looks after a customer, a chat or a session now. It is safe
// for concurrent use and reads only. Sources: externalcontact/get (92114),
// externalcontact/groupchat/get (92122), kf/service_state/get (94669).
type Asker struct {
	client   *Client
	openKfID string
	// rest is the pause after WeCom said that it is asked too often, or that it must
	// not be asked: sends go on.
	rest egress.Pause
}

// NewAsker makes an asker with the app's access token: for customers and chats, or,
// with an open_kfid, for the sessions of that account.
func NewAsker(c *Client, openKfID string) *Asker {
	return &Asker{client: c, openKfID: openKfID, rest: egress.Pause{First: 5 * time.Second, Max: time.Minute}}
}

// askError is an answer that is none; it says a code or a word and nothing else.
type askError struct{ Code string }

func (e *askError) Error() string { return "wecom: no answer: " + e.Code }

// codeNoRelation is said of a customer whom nobody has.
const codeNoRelation = 84061

// Ask tells the owner and members of a customer, the owner of a chat, the state and
// servicer of a session. The error is gateway.ErrNotFound for other kinds of keys;
// it holds no id.
func (a *Asker) Ask(ctx context.Context, id gateway.Identity) (gateway.State, error) {
	switch {
	case id.Kind == "customer" && a.openKfID == "":
		return a.customer(ctx, id.Spelling())
	case id.Kind == "chat" && a.openKfID == "":
		return a.chat(ctx, id.Spelling())
	case id.Kind == "session" && a.openKfID != "":
		return a.session(ctx, id.Spelling())
	}
	return gateway.State{}, gateway.ErrNotFound
}

// follower is a member who has a customer, since when.
type follower struct {
	UserID  string `json:"userid"`
	Created int64  `json:"createtime"`
}

// customer: of more than 500 members the rest is on further pages, which are not
// fetched: the time is short, and so many have no owner in any useful sense.
func (a *Asker) customer(ctx context.Context, id string) (gateway.State, error) {
	var out struct {
		Follow []follower `json:"follow_user"`
	}
	code, err := a.call(ctx, http.MethodGet, "externalcontact/get", url.Values{"external_userid": {id}}, nil, &out)
	if err != nil || code == codeNoRelation {
		return gateway.State{}, err
	}
	var s gateway.State
	slices.SortStableFunc(out.Follow, func(x, y follower) int { return cmp.Compare(y.Created, x.Created) })
	for _, f := range out.Follow {
		m := gateway.Member{UserID: f.UserID}
		if f.Created > 0 {
			at := time.Unix(f.Created, 0).UTC()
			m.Since = &at
		}
		s.Members = append(s.Members, m)
	}
	if len(s.Members) > 0 {
		s.Owner = s.Members[0].UserID
	}
	return s, nil
}

func (a *Asker) chat(ctx context.Context, id string) (gateway.State, error) {
	var out struct {
		Chat struct {
			Owner string `json:"owner"`
		} `json:"group_chat"`
	}
	_, err := a.call(ctx, http.MethodPost, "externalcontact/groupchat/get", nil, map[string]any{"chat_id": id, "need_name": 0}, &out)
	return gateway.State{Owner: out.Chat.Owner}, err
}

func (a *Asker) session(ctx context.Context, customer string) (gateway.State, error) {
	var out struct {
		State    int    `json:"service_state"`
		Servicer string `json:"servicer_userid"`
	}
	_, err := a.call(ctx, http.MethodPost, "kf/service_state/get", nil, map[string]string{"open_kfid": a.openKfID, "external_userid": customer}, &out)
	if err != nil {
		return gateway.State{}, err
	}
	states := sessionStates()
	if out.State < 0 || out.State >= len(states) {
		return gateway.State{}, &askError{"unreadable"}
	}
	return gateway.State{Session: states[out.State], Servicer: out.Servicer}, nil
}

// call makes one call, twice where the token was used up, and reads the answer. The
// codes 0 and 84061 are answers.
func (a *Asker) call(ctx context.Context, method, name string, q url.Values, body, out any) (code int, err error) {
	if a.rest.Left(a.client.now()) > 0 {
		return 0, &askError{"resting"}
	}
	for range 2 {
		token, err := a.client.tokens.get(ctx)
		if err != nil {
			return 0, &askError{"token"}
		}
		code, err := a.once(ctx, method, name, token, q, body, out)
		if err != nil {
			return 0, err
		}
		switch class := a.client.codes[code].Class; {
		case code == 0, code == codeNoRelation:
			a.rest.Over()
			return code, nil
		case class == ClassToken:
			a.client.tokens.drop(token)
			continue
		case class == ClassRate, class.stops():
			a.rest.Refused(a.client.now(), a.client.codes[code].Wait)
		}
		return code, &askError{strconv.Itoa(code)}
	}
	return 0, &askError{"token"}
}

func (a *Asker) once(ctx context.Context, method, name, token string, q url.Values, body, out any) (int, error) {
	query := url.Values{"access_token": {token}}
	for k, v := range q {
		query[k] = v
	}
	var raw []byte
	if body != nil {
		var err error
		if raw, err = plainJSON(body); err != nil {
			return 0, &askError{"not_encodable"}
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, apiURL(a.client.config.APIBase, name, query), bytes.NewReader(raw))
	if err != nil { // its text would hold the URL
		return 0, &askError{"bad_url"}
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json; charset=utf-8")
	}
	resp, err := a.client.egress.Do(req, time.Time{})
	var lost *egress.Error
	switch {
	case errors.As(err, &lost):
		return 0, &askError{lost.Word}
	case err != nil:
		return 0, &askError{egress.WordOther}
	}
	var answer struct {
		Code *int `json:"errcode"`
	}
	if json.Unmarshal(resp.Body, &answer) != nil || answer.Code == nil || *answer.Code == 0 && (resp.Status != http.StatusOK || json.Unmarshal(resp.Body, out) != nil) {
		return 0, &askError{"http_" + strconv.Itoa(resp.Status)}
	}
	return *answer.Code, nil
}
