package gateway

import (
	"encoding/json"
	"slices"
)

// Words are all texts of a reply. Platform clients hide them, so that none of them is shown when the platform
// plays it back. The longest come first: a short one inside a long one would leave
// the rest readable.
func (r *Reply) Words() []string {
	out := []string{r.Text}
	rest := *r
	rest.Type = "" // a word of ours, and of the platform's sentences
	b, err := json.Marshal(&rest)
	if err != nil {
		return out
	}
	var v any
	if json.Unmarshal(b, &v) != nil {
		return out
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			out = append(out, v)
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(v)
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}
