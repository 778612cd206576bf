package wecom_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/gateway"
)

// TestVariants reads bodies written from WeCom's pages and not from the samples.
// testdata/variants.txt holds them: a line "# what it shows", the elements of the
// document (the corp stands before them), and a line ">" with the item. Run with
// UPDATE_GOLDEN=1 to write the lines of items anew, and read the diff.
func TestVariants(t *testing.T) {
	path := filepath.Join("testdata", "variants.txt")
	parts := variants(t, path)
	if len(parts) < 40 {
		t.Fatalf("only %d variants", len(parts))
	}
	var out strings.Builder
	for _, part := range parts {
		var input, want []string
		for line := range strings.SplitSeq(part, "\n") {
			switch {
			case strings.HasPrefix(line, "> "):
				want = append(want, line)
			case line != "":
				input = append(input, line)
			}
		}
		var got []string
		t.Run(input[0], func(t *testing.T) {
			it := decode(t, variant(input[1:]))
			got = append(got, "> "+inShort(t, &it))
			if diff := cmp.Diff(want, got); diff != "" && os.Getenv("UPDATE_GOLDEN") == "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
		out.WriteString("# " + strings.Join(append(input, got...), "\n") + "\n\n")
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func variants(t testing.TB, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split("\n"+strings.TrimRight(string(text), "\n"), "\n# ")[1:]
}

// variant is the document of a variant; one that begins with <xml> is whole.
func variant(lines []string) []byte {
	doc := strings.Join(lines, "\n")
	if strings.HasPrefix(doc, "<xml>") {
		return []byte(doc)
	}
	return inner(doc)
}

// inShort is an item without its raw part: kind, key, conversation, content.
func inShort(t *testing.T, it *gateway.Item) string {
	t.Helper()
	c := it.Content
	if c.Raw == nil {
		t.Error("an item without its raw part")
	}
	c.Raw = nil
	content, err := gateway.EncodeContent(&c)
	if err != nil {
		t.Fatal(err)
	}
	key := it.Key
	if i := strings.Index(key, "h:"); i >= 0 && len(key) > i+60 {
		key = key[:i] + "h:…"
	}
	who := make([]string, 0, len(it.Chat.Identities))
	for _, id := range it.Chat.Identities {
		s := id.Kind + " " + id.Value
		if id.As != "" && id.As != id.Value {
			s += " (" + id.As + ")"
		}
		if id.Retired {
			s += " retired"
		}
		who = append(who, s)
	}
	return fmt.Sprintf("%s %s %s [%s: %s] %s", it.Kind, it.AccountID, key, it.Chat.Kind, strings.Join(who, ", "), content)
}
