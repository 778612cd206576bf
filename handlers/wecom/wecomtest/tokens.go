package wecomtest

import (
	"crypto/rand"
	"sync"
	"time"
)

// tokens gives out access tokens. Asking again within a token's life gives the
// same token, as WeCom documents it.
type tokens struct {
	life  time.Duration
	quota int
	now   func() time.Time

	mu      sync.Mutex
	token   string
	endsAt  time.Time
	expired map[string]bool // tokens whose life has ended
	calls   int
}

// give returns the token in use and the seconds it lives, or an errcode.
func (t *tokens) give(genuine bool) (token string, seconds int64, code int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls++
	now := t.now()
	switch {
	case t.quota > 0 && t.calls > t.quota:
		return "", 0, 45009
	case !genuine:
		return "", 0, 40001
	}
	if t.token == "" || !now.Before(t.endsAt) {
		if t.token != "" {
			t.expired[t.token] = true
		}
		t.token, t.endsAt = "sandbox-"+rand.Text()+rand.Text(), now.Add(t.life)
	}
	return t.token, int64(t.endsAt.Sub(now) / time.Second), 0
}

// check returns the errcode of using a token; 0 when it is good.
func (t *tokens) check(token string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case token == "":
		return 41001
	case t.expired[token], token == t.token && !t.now().Before(t.endsAt):
		return 42001
	case token != t.token:
		return 40014
	}
	return 0
}

// end makes the token in use unusable.
func (t *tokens) end(expired bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if expired && t.token != "" {
		t.expired[t.token] = true
	}
	t.token = ""
}

func (t *tokens) called() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.calls
}
