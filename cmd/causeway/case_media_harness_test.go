package main

import (
	"context"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
)

// answerTo makes a request and returns status and body.
func (w *world) answerTo(req *http.Request) (int, string) {
	w.t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// answering attaches a worker to the application echo until the test ends.
func (w *world) answering(t *testing.T, reply func(*gateway.Event) []gateway.Reply) {
	t.Helper()
	bot, err := worker.New(worker.Options{URL: "nats://" + w.nats, User: "bot", Password: "bot-password", App: "echo"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = bot.Run(ctx, func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) { return reply(ev), nil })
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// filesBelow lists the files of a folder and those in it.
func filesBelow(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
