package floor_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/handlers/floor"
)

const secret = "a secret of the test"

func sign(body string) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(m.Sum(nil))
}

// start serves a floor over file; stop ends it and returns Run's error.
func start(t *testing.T, file floor.File) (url string, stop func() error) {
	t.Helper()
	f := floor.New(secret, file)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	srv := httptest.NewServer(f.Handler())
	return srv.URL + "/webhooks/whatsapp/bench", func() error {
		srv.Close()
		cancel()
		return <-ended
	}
}

func post(t *testing.T, url, body, signature string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0
	}
	req.Header.Set("X-Hub-Signature-256", signature)
	client := http.Client{Timeout: 30 * time.Second}
	res, err := client.Do(req)
	if err != nil {
		t.Error(err)
		return 0
	}
	_ = res.Body.Close()
	return res.StatusCode
}

func TestEveryAnsweredBodyIsInTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "floor.log")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	url, stop := start(t, f)
	var wg sync.WaitGroup
	const n = 40
	for i := range n {
		wg.Go(func() {
			body := strings.Repeat("x", i+1)
			if got := post(t, url, body, sign(body)); got != http.StatusOK {
				t.Errorf("status %d, want 200", got)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(stop(), f.Close()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint32]bool{}
	for len(b) > 0 {
		size := binary.BigEndian.Uint32(b)
		seen[size] = true
		b = b[4+size:]
	}
	if len(seen) != n {
		t.Errorf("%d bodies in the file, want %d", len(seen), n)
	}
}

func TestWrongSignatureIsRefused(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "floor.log"))
	if err != nil {
		t.Fatal(err)
	}
	url, stop := start(t, f)
	for _, signature := range []string{"", "sha256=", "sha256=zz", sign("another body")} {
		if got := post(t, url, "body", signature); got != http.StatusUnauthorized {
			t.Errorf("signature %q: status %d, want 401", signature, got)
		}
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if info, err := f.Stat(); err != nil || info.Size() != 0 {
		t.Errorf("the file has %d bytes (%v), want none", info.Size(), err)
	}
}

// brokenFile fails to sync.
type brokenFile struct{}

var errBroken = errors.New("broken disk")

func (brokenFile) Write(b []byte) (int, error) { return len(b), nil }
func (brokenFile) Sync() error                 { return errBroken }

func TestNo200WithoutASync(t *testing.T) {
	url, stop := start(t, brokenFile{})
	if got := post(t, url, "body", sign("body")); got != http.StatusInternalServerError {
		t.Errorf("status %d, want 500", got)
	}
	if got := post(t, url, "body", sign("body")); got != http.StatusServiceUnavailable {
		t.Errorf("after the failure: status %d, want 503", got)
	}
	if err := stop(); !errors.Is(err, errBroken) {
		t.Errorf("Run returned %v, want the file's error", err)
	}
}
