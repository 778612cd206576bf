package unified_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
)

// sample is an entry of the index.
type sample struct {
	File   string `json:"file"`
	Class  string `json:"class"`
	Key    string `json:"key"`
	Dedup  string `json:"dedup"`
	Expect string `json:"expect"`
}

// endpointOf is the endpoint of the shared configuration that a sample is for.
func endpointOf(file string) string {
	for part, name := range map[string]string{"workphone": "phone", "quntool": "quntool", "worktool": "worktool"} {
		if strings.Contains(file, part) {
			return name
		}
	}
	return "hub"
}

func samples(t testing.TB) []sample {
	t.Helper()
	var f struct{ Files []sample }
	if err := json.Unmarshal(read(t, "index.json"), &f); err != nil {
		t.Fatal(err)
	}
	if len(f.Files) != 9 {
		t.Fatalf("%d samples", len(f.Files))
	}
	return f.Files
}

// TestSamples holds every sample against the index: what it is, whose it is, which
// fact it is.
func TestSamples(t *testing.T) {
	for _, s := range samples(t) {
		t.Run(s.File, func(t *testing.T) {
			e := endpoint(t, endpointOf(s.File))
			if s.Class == "hostile" {
				_, _, err := e.Decode(payload(read(t, s.File)))
				wantErr(t, err, gateway.ErrUndecodable)
				return
			}
			items := decode(t, e, string(read(t, s.File)))
			kinds := map[string][]string{
				"message": {"message"}, "echo": {"echo human"}, "human_takeover": {"echo human"}, "account_event": {"state"},
				"message_batch": {"message", "message", "echo human"},
			}[s.Class]
			if s.File == "gw_array_body.json" { // nothing in them says what they are
				kinds = []string{"notice", "notice"}
			}
			var got []string
			for i := range items {
				it := &items[i]
				got = append(got, whose(it))
				key := strings.Split(s.Key, "|")
				if s.File == "gw_worktool_no_ids.json" {
					key[1] = "robot-1"
				}
				if it.AccountID != key[1] {
					t.Errorf("account %q, want %q", it.AccountID, key[1])
				}
				want := "7881300000000001"
				switch {
				case key[0] == "account" || len(key) == 2:
					want = key[1]
				case key[2] != "<peer>":
					want = key[2]
				}
				if id := it.Chat.Identities[0].Value; id != want {
					t.Errorf("conversation %q, want %q", id, want)
				}
				switch prefix, id, _ := strings.Cut(s.Dedup, ":"); {
				case prefix == "evt", prefix == "msgid":
					if it.Key != "e:"+id {
						t.Errorf("key %q, want that of %s", it.Key, id)
					}
				case strings.HasPrefix(s.Dedup, "sha256"):
					if !strings.HasPrefix(it.Key, "h:") || !it.Content.WeakID {
						t.Errorf("key %q, want a hash, marked as weak", it.Key)
					}
				}
			}
			if d := cmp.Diff(kinds, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// Numbers that a float would make one are three messages.
func TestLargeNumbers(t *testing.T) {
	var keys []string
	for _, it := range decode(t, endpoint(t, "phone"), string(read(t, "gw_workphone_batch.json"))) {
		keys = append(keys, it.Key+" "+it.Content.ID+" "+it.Content.From.Identities[0].Value)
	}
	want := []string{
		"m:9007199254740993 9007199254740993 7881300000000001",
		"m:9007199254740994 9007199254740994 7881300000000001",
		"m:9007199254740995 9007199254740995 1688850000000001",
	}
	if d := cmp.Diff(want, keys); d != "" {
		t.Error(d)
	}
}

// golden is an item as the golden files have it: what the relay is given beside
// the event, and the event as published.
type golden struct {
	Account string          `json:"account"`
	Key     string          `json:"key"`
	Chat    gateway.Chat    `json:"chat"`
	Event   json.RawMessage `json:"event"`
}

// TestGolden compares the events of every sample byte by byte. Run with
// UPDATE_GOLDEN=1 to write the files anew, and read the diff.
func TestGolden(t *testing.T) {
	n := 0
	for _, s := range samples(t) {
		if s.Class == "hostile" {
			continue
		}
		n++
		t.Run(s.File, func(t *testing.T) {
			var list []golden
			for _, it := range decode(t, endpoint(t, endpointOf(s.File)), string(read(t, s.File))) {
				list = append(list, golden{it.AccountID, it.Key, it.Chat, published(t, &it)})
			}
			var b bytes.Buffer
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", " ")
			if err := enc.Encode(list); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", "golden", s.File)
			if os.Getenv("UPDATE_GOLDEN") != "" {
				if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*.json"))
	if err != nil || len(files) != n {
		t.Errorf("%d golden files for %d samples, %v", len(files), n, err)
	}
}
