package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/causewayhq/causeway"

// Imports go one way: cmd, then adapters (handlers, store, stream) and stages,
// then the words in gateway. A stage that knew a store or a platform could not be
// tested without it, and a bot that links the SDK would carry a server.
func TestImportsGoOneWay(t *testing.T) {
	packages := imports(t, filepath.Join("..", ".."))
	if len(packages["gateway"]) == 0 || len(packages["cmd/causeway"]) == 0 {
		t.Fatalf("found no packages to look at: %v", packages)
	}
	for _, name := range sortedNames(packages) {
		for _, imported := range packages[name] {
			if why := broken(name, imported); why != "" {
				t.Errorf("package %s imports %s: %s", name, imported, why)
			}
		}
	}
}

// The rule itself, held against imports that must and must not pass.
func TestImportRule(t *testing.T) {
	for _, c := range []struct {
		from, to string
		ok       bool
	}{
		{"gateway", "encoding/json", true},
		{"gateway", "go.uber.org/zap", false},
		{"gateway", module + "/store", false},
		{"gateway/relay", module + "/gateway", true},
		{"gateway/relay", "go.uber.org/zap", true},
		{"gateway/relay", module + "/gateway/gate", false},
		{"gateway/relay", module + "/store", false},
		{"gateway/outbox", module + "/handlers/whatsapp", false},
		{"gateway/gate", module + "/gateway/stream", false},
		{"gateway/gate", "github.com/nats-io/nats.go/jetstream", false},
		{"gateway/stream", "github.com/nats-io/nats.go", true},
		{"gateway/stream", module + "/gateway/stream/embedded", false},
		{"gateway/stream", "github.com/nats-io/nats-server/v2/server", false},
		{"gateway/stream/embedded", "github.com/nats-io/nats-server/v2/server", true},
		{"gateway/stream/embedded", module + "/gateway/stream", true},
		{"gateway/worker", "github.com/nats-io/nats.go", true},
		{"gateway/worker", module + "/gateway/stream/embedded", false},
		{"gateway/worker/workertest", module + "/gateway/worker", true},
		{"handlers", "github.com/gin-gonic/gin", true},
		{"handlers/wecom", module + "/handlers", true},
		{"handlers", module + "/handlers/wecom", false},
		{"handlers/wecom", module + "/handlers/whatsapp", false},
		{"handlers/admin", module + "/store", true},
		{"handlers/admin", module + "/store/sqlite", false},
		{"handlers/eventtest", module + "/testdata/schema", true},
		{"handlers/eventtest", module + "/handlers/wecom", false},
		{"cmd/causeway", module + "/handlers/eventtest", false},
		{"store/sqlite", "modernc.org/sqlite", true},
		{"store", module + "/store/sqlite", false},
		{"config", "github.com/gin-gonic/gin", false},
		{"config", module + "/store", false},
		{"config", module + "/handlers/unified", true},
		{"config", module + "/handlers/wecom", false},
		{"cmd/causeway", module + "/store/sqlite", true},
		{"cmd/causeway", "github.com/gin-gonic/gin", false},
		{"store/sqlite", module + "/cmd/causeway", false},
	} {
		if why := broken(c.from, c.to); (why == "") != c.ok {
			t.Errorf("%s imports %s: %q", c.from, c.to, why)
		}
	}
}

// broken returns a sentence when a package may not import another.
func broken(from, to string) string {
	if why := foreign(from, to); why != "" {
		return why
	}
	own, ours := strings.CutPrefix(to, module+"/")
	if !ours {
		return ""
	}
	switch {
	case within(own, "cmd"):
		return "nothing imports the main package's folder"
	case own == "handlers/eventtest":
		return "only tests of platforms import it"
	case within(from, "cmd"):
		return "" // where parts meet
	case own == "gateway":
		return ""
	case from == "gateway":
		return "the words import the standard library only"
	case within(own, "gateway/stream/embedded") && !within(from, own) && from != "gateway/worker/workertest":
		return "only cmd, and the kit for testing bots, start the NATS server; a bot links none"
	case within(from, own) && from != own && !slices.Contains(layered(), own):
		return "" // a part of a package may know the package
	case from == "config":
		return only(own, "config may name the front door's limits, and the descriptions that platform unified is made of", "handlers", "handlers/unified")
	case within(from, "gateway/stream"):
		return only(own, "the transport knows the words and itself", "gateway/stream")
	case within(from, "gateway/worker"):
		return only(own, "a bot links the words, the transport's client side and the SDK", "gateway/stream", "gateway/worker")
	case within(from, "gateway"):
		return "a stage imports the words only; it declares the small interfaces it reads, and cmd hands it what implements them"
	case from == "handlers/admin":
		return only(own, "the admin surface speaks of the store's promises and of no store", "handlers", "store")
	case from == "handlers/eventtest":
		return only(own, "what platforms are tested with knows the published schemas and no platform", "testdata/schema")
	case within(from, "handlers"):
		return only(own, "a platform knows what the front door asks, the common client for calls, and no other platform",
			"handlers", "handlers/egress", "handlers/sandbox", platformOf(from))
	case within(from, "store"):
		return only(own, "a store knows its promises and no other store", "store", "store/storetest", storeOf(from))
	}
	return "this folder is not on the design's list of packages"
}

// layered are the packages that their own parts may not simply import, because
// more is said about them below.
func layered() []string { return []string{"gateway", "handlers", "store"} }

// foreign says who may import other people's modules.
func foreign(from, to string) string {
	switch {
	case from == "gateway" && strings.Contains(strings.SplitN(to, "/", 2)[0], ".") && !strings.HasPrefix(to, module):
		return "the words import the standard library only, so that every package may import them"
	case within(to, "github.com/nats-io/nats-server/v2") && !within(from, "gateway/stream/embedded"):
		return "only gateway/stream/embedded links the NATS server, so a bot links none"
	case within(to, "github.com/nats-io/nats.go") && !within(from, "gateway/stream") && !within(from, "gateway/worker"):
		return "only gateway/stream and gateway/worker speak to the broker"
	case within(to, "github.com/gin-gonic/gin") && !within(from, "handlers"):
		return "only handlers link gin"
	case (within(to, "modernc.org/sqlite") || within(to, "github.com/jackc/pgx/v5") || to == "database/sql") && !within(from, "store"):
		return "only store links SQL drivers"
	}
	return ""
}

// within says whether a path is the folder or in it.
func within(p, folder string) bool { return p == folder || strings.HasPrefix(p, folder+"/") }

func only(own, why string, allowed ...string) string {
	if slices.ContainsFunc(allowed, func(a string) bool { return a != "" && (own == a || a != "handlers" && a != "store" && within(own, a)) }) {
		return ""
	}
	return why
}

// platformOf is the platform's folder that a package belongs to, so that its
// sandbox may import it; "" for the front door itself.
func platformOf(from string) string { return secondLevel(from, "handlers") }

func storeOf(from string) string { return secondLevel(from, "store") }

func secondLevel(from, top string) string {
	rest, ok := strings.CutPrefix(from, top+"/")
	if !ok {
		return ""
	}
	first, _, _ := strings.Cut(rest, "/")
	return path.Join(top, first)
}

// imports reads what every package imports outside its tests, by folder below
// root.
func imports(t *testing.T, root string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if p != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, text, parser.ImportsOnly)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		folder, err := filepath.Rel(root, filepath.Dir(p))
		if err != nil {
			return err
		}
		folder = filepath.ToSlash(folder)
		for _, i := range file.Imports {
			imported, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			if !slices.Contains(out[folder], imported) {
				out[folder] = append(out[folder], imported)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func sortedNames(m map[string][]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
