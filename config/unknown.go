package config

import (
	"regexp"
	"strings"
)

// unknownField says what would be right instead of a field that does not exist.
func unknownField(path, name string, fields []field) string {
	list := regexp.MustCompile(`\[\d+\]`).ReplaceAllString(path, "")
	if later := notYet(list, name); later != "" {
		return later
	}
	if name == "<<" {
		return "merges are not read; write the fields out"
	}
	best, distance := "", 3
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
		if n := edits(name, f.name); n < distance {
			best, distance = f.name, n
		}
	}
	if best != "" {
		return "there is no such field; did you mean " + best + "?"
	}
	return "there is no such field; known here: " + strings.Join(names, ", ")
}

// notYet explains fields that the design knows and this release does not.
func notYet(list, name string) string {
	switch list + "." + name {
	case "tls.acme":
		return "acme is not part of this release; name cert and key"
	case "applications.ack":
		return "write ack_done: true instead of ack: done"
	}
	return ""
}

// edits is the Levenshtein distance; inputs are short.
func edits(a, b string) int {
	if len(a) > 40 || len(b) > 40 {
		return 40
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
