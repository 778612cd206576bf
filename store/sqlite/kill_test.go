package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
	"github.com/causewayhq/causeway/store/sqlite"
)

const childFolder = "CAUSEWAY_TEST_STORE_FOLDER"

// TestKilledChild is the process that is killed; alone it does nothing. It
// writes and says what was acknowledged, one line each, until it is killed.
func TestKilledChild(t *testing.T) {
	dir := os.Getenv(childFolder)
	if dir == "" {
		t.Skip("runs as the child of TestAcknowledgedSurvivesKill")
	}
	s, err := sqlite.Open(context.Background(), dir, sqlite.Options{Now: time.Now, LockWait: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	say := func(kind, id string) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = fmt.Fprintf(os.Stdout, "%s %s\n", kind, id)
	}
	for range 8 {
		go func() {
			for {
				p := gateway.Payload{Platform: "whatsapp", Endpoint: "meta", ReceivedAt: time.Now(), Body: []byte(`{"object":"x"}`)}
				if s.Archive.Append(context.Background(), &p) == nil {
					say("payload", p.ID)
				}
			}
		}()
	}
	for i := 0; ; i++ {
		id := fmt.Sprintf("run_%d_%d", os.Getpid(), i)
		if made, err := s.Ledger.StartRun(context.Background(), gateway.ReplayRun{ID: id, At: time.Now()}); err == nil && made {
			say("run", id)
		}
	}
}

func TestAcknowledgedSurvivesKill(t *testing.T) {
	t.Parallel()
	rounds := 20
	if testing.Short() {
		rounds = 3
	}
	r := rand.New(rand.NewPCG(20, 26))
	dir := t.TempDir()
	said := make(map[string]bool)
	for round := range rounds {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledChild$")
		child.Env = append(os.Environ(), childFolder+"="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines, left := bufio.NewScanner(out), 1+r.IntN(400)
		for lines.Scan() {
			if kind, _, ok := strings.Cut(lines.Text(), " "); !ok || kind != "payload" && kind != "run" {
				continue
			}
			said[lines.Text()] = true
			if left--; left == 0 {
				_ = child.Process.Kill() // SIGKILL; the rest of the pipe is read too
			}
		}
		_ = child.Wait()
		if left > 0 {
			t.Fatalf("round %d: the child ended by itself", round)
		}
	}

	s, err := sqlite.Open(t.Context(), dir, sqlite.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for line := range said {
		kind, id, _ := strings.Cut(line, " ")
		switch kind {
		case "payload":
			_, pos, err := store.ParsePayloadID(id)
			if err != nil {
				t.Fatalf("%s: %v", id, err)
			}
			p, err := s.Archive.Get(t.Context(), pos)
			if err != nil || p.ID != id {
				t.Errorf("acknowledged payload %s is lost: %v", id, err)
			}
		case "run":
			made, err := s.Ledger.StartRun(t.Context(), gateway.ReplayRun{ID: id, At: time.Now()})
			if err != nil || made {
				t.Errorf("acknowledged run %s is lost: %v", id, err)
			}
		}
	}
	if len(said) < rounds {
		t.Errorf("only %d acknowledged", len(said))
	}
	after, err := s.Archive.After(t.Context(), 0)
	ps, rerr := s.Archive.Read(t.Context(), 0, 1<<30, 1<<30)
	if err != nil || rerr != nil || int64(len(ps)) != after {
		t.Errorf("%d rows, counted %d: %v, %v", len(ps), after, err, rerr)
	}
}
