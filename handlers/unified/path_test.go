package unified

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const document = `{"guid":"g","a":{"b":[10,[20,21],{"c":"x\u0079"}],"a.b":{"\"q\"":true},"":"empty","中":"文"},
 "list":[{"n":1},{"n":2},{}],"nothing":null,"none":[],"e":"","dup":1,"dup":2,"esc\u0061ped":9007199254740993, "f":-1.50e+3 }`

func TestPathsFind(t *testing.T) {
	for path, want := range map[string]string{
		"guid": "g", "$.guid": "g", `$["guid"]`: "g", `["guid"]`: "g",
		"a.b[0]": "10", "a.b[1][1]": "21", "a.b[2].c": "xy", `a["a.b"]["\"q\""]`: "true", `a[""]`: "empty", "a.中": "文",
		"list[1].n": "2", "list[9].n": "", "list[2].n": "", "list.n": "", "a[0]": "", "guid.x": "", "guid[0]": "",
		"nothing": "", "nothing.x": "", "none[0]": "", "e": "", "a": "", "list": "", "missing": "", "GUID": "",
		"dup": "2", "escaped": "9007199254740993", "f": "-1.50e+3", "=text": "text", "=$.guid": "$.guid", "== ": "= ",
	} {
		p, err := parsePath(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		s := scope{item: value(document), root: value(document), ofRoot: map[*pathOf]string{}}
		if got := s.text(p); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
		again, err := readPath(p.String())
		if p.is {
			again, err = parsePath(p.String())
		}
		if err != nil || again.String() != p.String() {
			t.Errorf("%s is written %s: %v", path, p, err)
		}
	}
}

// pathOf is path where a variable has that name.
type pathOf = path

func TestPathsRefused(t *testing.T) {
	for _, path := range []string{
		"", "=", ".", "a.", ".a", "a..b", "a b", "a[", "a[]", "a[x]", "a[-1]", "a[01]", "a[100000]", "a[0", `a["x]`, `a["x"`, `a["x\"]`, `a['x']`,
		"$guid", "$$", "a.$b", "a.=b", "a]b", `a"b`, "$.", "a[0]b", "a\x00", "[*", "a[**]", strings.Repeat("a", 257),
	} {
		if p, err := parsePath(path); err == nil {
			t.Errorf("%q is read as %s", path, p)
		}
	}
}

func TestPathsFindAll(t *testing.T) {
	for _, tt := range []struct {
		path  string
		want  []string
		there bool
	}{
		{"list[*]", []string{`{"n":1}`, `{"n":2}`, `{}`}, true},
		{"list[*].n", []string{"1", "2"}, true},
		{"a.b[*][*]", []string{"20", "21"}, true},
		{"none[*]", nil, true},
		{"guid[*]", nil, false},
		{"nothing[*]", nil, false},
		{"missing.list[*]", nil, false},
		{"nothing", nil, false},
		{"a.b[0]", []string{"10"}, true},
	} {
		p, err := parsePath(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		found, there := p.all(value(document), 100)
		var got []string
		for _, v := range found {
			got = append(got, string(v))
		}
		if d := cmp.Diff(tt.want, got); d != "" || there != tt.there {
			t.Errorf("%s: %v %s", tt.path, there, d)
		}
	}
	p, _ := parsePath("list[*]")
	if found, _ := p.all(value(document), 1); len(found) != 2 {
		t.Errorf("%d found over the limit of 1", len(found))
	}
}

// FuzzPath: a path that can be read is written so that it reads the same, and finds
// what the JSON library finds, in any document.
func FuzzPath(f *testing.F) {
	for _, path := range []string{"guid", "$.a.b[1][1]", `a["a.b"]["\"q\""]`, "list[*].n", "=x", "$", `[""]`, "a.中", "dup", "[0].x"} {
		f.Add(path, document)
	}
	f.Add("[1].a", `[ {"a" : 1} , { "a":[ ] , "a" : "\ud800\"" } ]`)
	f.Add("$", "\"\xd4\"") // as a vendor's answer may be
	f.Fuzz(func(t *testing.T, text, doc string) {
		p, err := parsePath(text)
		if err != nil {
			return
		}
		again, err := readPath(p.String())
		if p.is {
			again, err = parsePath(p.String())
		}
		if err != nil || again.String() != p.String() || again.is != p.is || again.root != p.root || !slices.Equal(again.steps, p.steps) {
			t.Fatalf("%q is written %q: %v", text, p, err)
		}
		var tree any
		root := readJSON([]byte(doc))
		dec := json.NewDecoder(bytes.NewReader(root))
		dec.UseNumber()
		if root == nil || dec.Decode(&tree) != nil || p.is {
			return
		}
		found, _ := p.all(root, 1000)
		if p.every() {
			return
		}
		for _, st := range p.steps {
			m, _ := tree.(map[string]any)
			l, _ := tree.([]any)
			switch {
			case st.named:
				tree = m[st.name]
			case st.at < len(l):
				tree = l[st.at]
			default:
				tree = nil
			}
		}
		if (tree != nil) != (len(found) == 1) {
			t.Fatalf("%s in %s: %v, the library has %v", p, doc, found, tree)
		}
		if tree == nil {
			return
		}
		var got any
		dec = json.NewDecoder(strings.NewReader(string(found[0])))
		dec.UseNumber()
		if err := dec.Decode(&got); err != nil || !reflect.DeepEqual(got, tree) {
			t.Fatalf("%s in %s: %v, the library has %v; %v", p, doc, got, tree, err)
		}
		if s, ok := tree.(string); ok && found[0].text() != s {
			t.Fatalf("text %q, the library has %q", found[0].text(), s)
		}
	})
}
