package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/whatsapp"
)

// Case 13: one callback with two entries, seven changes and odd items between
// good ones. Each item is one event; the same POST again adds none.
func TestCase13Batch(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{apps: appByWorker})
	eyes := w.observe()
	body := w.sample("whatsapp", "case-13-batch.json")
	w.taken(body)
	check := func() {
		kinds, order := map[gateway.Kind]int{}, []string{}
		for _, ev := range w.sees(eyes, 11) {
			kinds[ev.Kind]++
			if ev.From != nil && strings.HasPrefix(ev.ID, "wamid.B") && ev.From.Identities[0].Value == "15550100001" {
				order = append(order, ev.ID)
			}
		}
		// Four texts; what is unsupported or new and an error of the number are
		// notices, a customer's new number and news of the account are state.
		if kinds[gateway.KindMessage] != 4 || kinds[gateway.KindStatus] != 2 || kinds[gateway.KindNotice] != 3 || kinds[gateway.KindState] != 2 {
			t.Errorf("kinds %v", kinds)
		}
		if !slices.Equal(order, []string{"wamid.B1", "wamid.B2", "wamid.B3", "wamid.B7"}) {
			t.Errorf("one sender's events came in the order %v", order)
		}
	}
	check()
	w.taken(body)
	w.until(20*time.Second, "the second POST is relayed", func() bool { return w.sums().Payloads.Duplicate == 1 })
	check()
	if s := w.sums(); s.Items.Dead != 0 || s.Items.Duplicate != 11 {
		t.Errorf("%d dead and %d duplicate items, want 0 and 11", s.Items.Dead, s.Items.Duplicate)
	}
}

// Case 18: twenty copies at once, one more after a restart and one after the
// broker forgot everything: one event, one reply, every copy counted.
func TestCase18Duplicates(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{})
	_, body := w.wa.CustomerBody(customer(18), "once")
	var wg sync.WaitGroup
	var ok atomic.Int64
	for range 20 {
		wg.Go(func() {
			if status, err := w.wa.Post(t.Context(), body); err == nil && status == http.StatusOK {
				ok.Add(1)
			}
		})
	}
	wg.Wait()
	if ok.Load() != 20 {
		t.Errorf("%d of 20 copies were answered 200", ok.Load())
	}
	w.settled(30 * time.Second)
	for copies, forget := range []bool{false, true} {
		w.stop()
		if forget {
			if err := os.RemoveAll(filepath.Join(w.dir, "nats")); err != nil {
				t.Fatal(err)
			}
		}
		w.start("")
		w.up()
		w.taken(body)
		w.settled(30 * time.Second)
		s, want := w.sums(), int64(20+copies)
		if s.Items.Events != 1 || s.Items.Duplicate != want || s.Payloads.Duplicate != want || s.Messages.Accepted != 1 {
			t.Errorf("%d events, %d duplicate items, %d duplicate payloads, %d replies; want 1, %d, %d, 1",
				s.Items.Events, s.Items.Duplicate, s.Payloads.Duplicate, s.Messages.Accepted, want, want)
		}
	}
	if got := texts(w.calls("")); len(got) != 1 {
		t.Errorf("the platform saw %d sends, want 1", len(got))
	}
}

// batch is a callback of messages from many customers, of about size bytes.
func batch(size int, name string) (body []byte, messages int) {
	var list []map[string]any
	for n := 0; n < size; n += 2104 {
		list = append(list, map[string]any{"from": fmt.Sprintf("155501%05d", len(list)%500), "id": fmt.Sprintf("wamid.%s-%04d", name, len(list)),
			"timestamp": "1760000000", "type": "text", "text": map[string]string{"body": strings.Repeat("y", 2000)}})
	}
	return messagesBody(list), len(list)
}

func messagesBody(list []map[string]any) []byte {
	body, err := json.Marshal(map[string]any{"object": "whatsapp_business_account", "entry": []any{map[string]any{
		"id": "900000000000001", "changes": []any{map[string]any{"field": "messages", "value": map[string]any{
			"messaging_product": "whatsapp", "messages": list,
			"metadata": map[string]string{"display_phone_number": "15550100099", "phone_number_id": testPhone}}}}}}})
	if err != nil {
		panic(err)
	}
	return body
}

// Case 29: a batch of nearly 3 MiB is taken with all its messages; 4 MiB is
// refused by its length; 30 MB without a signature are refused unread; a single
// message over a broker's usual 1 MiB reaches the worker whole.
func TestCase29Sizes(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{apps: appByWorker})
	body, messages := batch(3<<20, "S29")
	if len(body) < 3<<20 || len(body) > 3328<<10 {
		t.Fatalf("the batch has %d bytes", len(body))
	}
	w.taken(body)
	w.until(time.Minute, "the batch is relayed", func() bool { return w.sums().Payloads.Relayed == 1 })
	if got := w.sums().Items.Events; got != int64(messages) {
		t.Errorf("%d events of %d messages", got, messages)
	}
	big, _ := batch(4<<20, "S29big")
	if status := w.postCounted(big, 0, true); status != http.StatusRequestEntityTooLarge {
		t.Errorf("4 MiB were answered %d, want 413", status)
	}
	for _, declared := range []bool{true, false} {
		if status := w.postCounted(make([]byte, 30_000_000), 12<<20, declared); status != http.StatusRequestEntityTooLarge {
			t.Errorf("30 MB without a signature (length told: %v) were answered %d, want 413", declared, status)
		}
	}
}

// postCounted posts a body signed and returns the status; more than limit bytes
// taken from it is an error (0: no limit).
func (w *world) postCounted(body []byte, limit int64, declared bool) int {
	w.t.Helper()
	r := &counted{Reader: bytes.NewReader(body)}
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url, r)
	if err != nil {
		w.t.Fatal(err)
	}
	if req.ContentLength = -1; declared {
		req.ContentLength = int64(len(body))
	}
	if limit == 0 {
		req.Header.Set(whatsapp.SignatureHeader, whatsapp.Sign(testSecret, body))
	}
	before := w.refusals(http.StatusRequestEntityTooLarge)
	tr := &http.Transport{DisableKeepAlives: true}
	defer tr.CloseIdleConnections()
	resp, err := tr.RoundTrip(req)
	if n := r.n.Load(); limit > 0 && n > limit {
		w.t.Errorf("%d bytes of the body were read", n)
	}
	if err != nil {
		// The answer came and the connection was closed while we still wrote;
		// which of the two a client sees first is chance.
		w.until(10*time.Second, "the refusal is counted", func() bool { return w.refusals(http.StatusRequestEntityTooLarge) > before })
		return http.StatusRequestEntityTooLarge
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

type counted struct {
	io.Reader
	n atomic.Int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n.Add(int64(n))
	return n, err
}

// refusals counts callbacks answered with a status, from the metrics.
func (w *world) refusals(status int) int {
	w.t.Helper()
	_, text := w.raw(http.MethodGet, "/metrics", testToken, nil)
	sum := 0
	for _, line := range strings.Split(text, "\n") {
		name, value, _ := strings.Cut(line, "} ")
		if strings.HasPrefix(name, "causeway_") && strings.Contains(name, fmt.Sprintf(`"%d"`, status)) {
			n, err := strconv.Atoi(value)
			if err != nil {
				w.t.Fatalf("metric %s", line)
			}
			sum += n
		}
	}
	return sum
}

// Case 29, one message larger than what brokers take by default, and one whose
// event is larger than what ours takes: the worker gets both, the second without
// its raw part, and the conversation goes on.
func TestCase29OneLargeMessage(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{apps: appByWorker})
	eyes := w.observe()
	got := make(chan string, 10)
	w.bot(func(_ context.Context, ev *gateway.Event) ([]gateway.Reply, error) {
		got <- fmt.Sprintf("%s %d", ev.ID, len(ev.Text))
		return nil, nil
	}, 4)
	want := []string{}
	for i, size := range []int{1_200_000, 2_600_000, 10} {
		id := fmt.Sprintf("wamid.S29-%d", i)
		want = append(want, fmt.Sprintf("%s %d", id, size))
		w.taken(messagesBody([]map[string]any{{"from": customer(29), "id": id, "timestamp": "1760000000", "type": "text",
			"text": map[string]string{"body": strings.Repeat("z", size)}}}))
	}
	for _, expected := range want {
		select {
		case have := <-got:
			if have != expected {
				t.Errorf("the worker got %s, want %s", have, expected)
			}
		case <-time.After(leastLimit):
			t.Fatalf("the worker never got %s", expected)
		}
	}
	for i, ev := range w.sees(eyes, 3) {
		if raw := len(ev.Raw) > 0; raw != (i != 1) {
			t.Errorf("event %d has its raw part: %v", i, raw)
		}
	}
	w.settled(20 * time.Second)
}

// Case 40: names and ids that point out of a folder. The gateway writes nothing
// outside its own folders, and an admin's path leads nowhere.
func TestCase40Traversal(t *testing.T) {
	begin(t)
	w := newCase(t, worldOptions{})
	eyes := w.observe()
	w.taken(w.sample("whatsapp", "case-40-path-traversal.json"))
	list := w.sees(eyes, 5)
	names := map[string]bool{}
	for _, ev := range list {
		if ev.Media == nil {
			t.Fatalf("event %s has no file", ev.ID)
		}
		names[ev.Media.Filename] = true
	}
	if !names["../../../../tmp/pwned40.pdf"] || !names[`..\..\pwned40.txt`] || !names["/tmp/pwned40"] {
		t.Errorf("file names are not kept as they came: %v", names)
	}
	w.settled(20 * time.Second)
	w.until(20*time.Second, "the bot answered", func() bool { return w.sums().Payloads.Pending == 0 })
	for _, root := range []string{w.dir, os.TempDir(), filepath.Join("..", "..")} {
		noFileNamed(t, root, "pwned40")
	}
	for _, path := range []string{"..%2f..%2f..%2fetc%2fpasswd", "../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "meta%00",
		"wamid.HBg%2F..%2F..%2F..%2F..%2Ftmp%2Fpwned40%3D%3D", "-1", "99999999999999999999", "pl_"} {
		for _, list := range []string{"payloads/", "rejects/", "dead/", "conversations/"} {
			status, body := w.raw(http.MethodGet, "/api/v1/"+list+path, testToken, nil)
			if status != http.StatusBadRequest && status != http.StatusNotFound || strings.Contains(body, "root:") {
				t.Errorf("%s%s was answered %d %.100s", list, path, status, body)
			}
		}
	}
}

// noFileNamed looks at a folder and two levels below; what it may not read is
// not ours.
func noFileNamed(t *testing.T, root, name string) {
	t.Helper()
	root, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case errors.Is(err, os.ErrPermission), errors.Is(err, os.ErrNotExist):
			return nil
		case err != nil:
			return err
		case strings.Contains(d.Name(), name) && !strings.Contains(path, "testdata"):
			t.Errorf("there is a file %s", path)
		case d.IsDir() && strings.Count(path[len(root):], string(filepath.Separator)) > 2:
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
