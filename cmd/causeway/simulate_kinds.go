package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
	"github.com/causewayhq/causeway/handlers/whatsapp"
	"github.com/causewayhq/causeway/handlers/whatsapp/whatsapptest"
)

// listedKind is one line of --list.
type listedKind struct {
	Kind     string   `json:"kind"`
	Becomes  string   `json:"becomes"` // the kind of the event
	About    string   `json:"about"`
	Copy     string   `json:"copy,omitempty"` // of what: recorded and never offered
	Variants []string `json:"variants"`       // the default first
}

// whatsappKinds and wecomKinds are what the makers of the sandboxes list.
func whatsappKinds() []listedKind {
	list := []listedKind{}
	for _, k := range whatsapptest.Kinds() {
		list = append(list, listedKind{k.Name, string(k.Class), k.About, string(k.Observed), append([]string{}, strings.Fields(k.Variants)...)})
	}
	return list
}

func wecomKinds() []listedKind {
	list := []listedKind{}
	for _, k := range slices.Concat(wecomtest.Kinds(), wecomtest.KfKinds(), wecomtest.BotKinds()) {
		list = append(list, listedKind{k.Name, string(k.Class), k.About, "", append([]string{}, strings.Fields(k.Variants)...)})
	}
	return list
}

// printKinds is --list.
func (c *cli) printKinds(list []listedKind) error {
	return failed(c.print(list, func(w io.Writer) {
		rows := [][]string{}
		for _, k := range list {
			becomes := k.Becomes
			if k.Copy != "" {
				becomes += " (copy)"
			}
			rows = append(rows, []string{k.Kind, becomes, k.About, strings.Join(k.Variants, " ")})
		}
		table(w, "no kinds", []string{"KIND", "BECOMES", "WHAT HAPPENED", "VARIANTS"}, rows)
	}))
}

// completeKinds is for the shell.
func completeKinds(list []listedKind) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		words := []string{}
		for _, k := range list {
			switch {
			case len(args) == 0:
				words = append(words, k.Kind)
			case len(args) == 1 && k.Kind == args[0]:
				words = k.Variants
			}
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// unknownKind names the kinds that were perhaps meant.
func unknownKind(platform, name string, list []listedKind) error {
	near := nearKinds(name, list)
	if len(near) == 0 {
		return usageError("%q is no kind of callback; see causeway simulate %s --list", printable(name, 40), platform)
	}
	return usageError("%q is no kind of callback; perhaps %s (all: causeway simulate %s --list)", printable(name, 40), strings.Join(near, ", "), platform)
}

// nearKinds are the kinds that share a word with name, or differ in a letter or
// two, the nearest first; at most six.
func nearKinds(name string, kinds []listedKind) []string {
	const far = 3
	name = strings.ToLower(strings.ReplaceAll(name, "_", "-"))
	if len(name) > 40 {
		return nil
	}
	type near struct {
		name     string
		distance int
	}
	var list []near
	for _, k := range kinds {
		d := letters(name, k.Kind)
		for _, word := range strings.Split(k.Kind, "-") {
			d = min(d, letters(name, word))
			for _, asked := range strings.Split(name, "-") {
				if len(asked) > 2 && (asked == word || strings.HasPrefix(word, asked) || strings.HasPrefix(asked, word)) {
					d = min(d, 1)
				}
			}
		}
		if d < min(far, max(len(name)-1, 1)) {
			list = append(list, near{k.Kind, 100*d + letters(name, k.Kind)})
		}
	}
	slices.SortStableFunc(list, func(a, b near) int { return a.distance - b.distance })
	names := []string{}
	for _, n := range list[:min(len(list), 6)] {
		names = append(names, n.name)
	}
	return names
}

// letters is how many letters must be changed, added or left out to make b of a.
func letters(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// printedCallback is what --print --json prints of a callback.
type printedCallback struct {
	ID        string `json:"id,omitempty"`
	URL       string `json:"url"`
	Signature string `json:"signature"` // the value of X-Hub-Signature-256
	Body      string `json:"body"`      // the exact bytes
	Curl      string `json:"curl"`
}

// printCallbacks writes bodies to standard output, exactly, one a line when there
// are several, and how to send them with curl to standard error.
func (c *cli) printCallbacks(s *whatsappSimulation, target, secret string, build func(n int) (string, []byte, error)) error {
	list := []printedCallback{}
	for n := 1; n <= s.count; n++ {
		id, body, err := build(n)
		if err != nil {
			return failed(err)
		}
		p := printedCallback{ID: id, URL: target, Signature: whatsapp.Sign(secret, body), Body: string(body)}
		p.Curl = curlLine(&p)
		if c.asJSON {
			list = append(list, p)
			continue
		}
		if n > 1 {
			body = append([]byte("\n"), body...)
		}
		if _, err := c.out.Write(body); err != nil {
			return failed(err)
		}
		if _, err := fmt.Fprintf(c.err, "\n%s\n", p.Curl); err != nil {
			return failed(err)
		}
	}
	if c.asJSON {
		return failed(c.print(list, func(io.Writer) {}))
	}
	return nil
}

// curlLine can be pasted into a shell. The signature is over the exact body, so a
// long one is left to a file without a newline at its end.
func curlLine(p *printedCallback) string {
	const longest = 100_000 // what systems take as one argument
	data := shellQuoted(p.Body)
	if len(data) > longest {
		data = "@body.json"
	}
	return "curl -sS -X POST " + shellQuoted(p.URL) + " -H 'Content-Type: application/json' -H " +
		shellQuoted(whatsapp.SignatureHeader+": "+p.Signature) + " --data-binary " + data
}

func shellQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
