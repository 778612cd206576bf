package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFile bounds the configuration and each file named in it.
const (
	maxFile   = 4 << 20
	maxSecret = 64 << 10
)

// Load reads the file at path. env looks up an environment variable
// (os.LookupEnv). The error is *Errors for everything wrong in the file, or the
// operating system's when the file cannot be read.
func Load(path string, env func(string) (string, bool)) (*Config, error) {
	text, err := readBounded(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return Parse(path, text, env)
}

// Parse is Load for text that was read already; file is its name in errors.
func Parse(file string, text []byte, env func(string) (string, bool)) (*Config, error) {
	c, d := Default(), &decoder{env: env, places: map[string]place{}}
	root, err := document(text)
	if err != nil {
		d.list.add(*err)
		return nil, d.list.result(file)
	}
	v := reflect.ValueOf(c).Elem()
	if root != nil {
		d.value(root, v, "")
	}
	d.overrides(v, "", "CAUSEWAY")
	c.Complete()
	for _, e := range c.mistakes() {
		d.locate(&e)
		d.list.add(e)
	}
	if err := d.list.result(file); err != nil {
		return nil, err
	}
	return c, nil
}

// document parses the text into the one mapping it must be; nil for an empty
// file.
func document(text []byte) (*yaml.Node, *FieldError) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, syntaxError(err, text)
	}
	switch err := dec.Decode(&more); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, syntaxError(err, text)
	default:
		return nil, &FieldError{Line: more.Line, Problem: "a second document; there must be one, without a line of ---"}
	}
	root := doc.Content[0]
	if isNull(root) {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, &FieldError{Line: root.Line, Problem: "must be a mapping of fields, such as listen: \":8080\""}
	}
	return root, nil
}

// syntaxError takes the line out of the parser's error, and whatever it quotes:
// that could be a secret.
func syntaxError(err error, file []byte) *FieldError {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	e := &FieldError{}
	if m := regexp.MustCompile(`(?s)^unknown anchor '(.*)' referenced$`).FindStringSubmatch(text); m != nil {
		before, _, _ := bytes.Cut(file, []byte("*"+m[1]))
		e.Line = 1 + bytes.Count(before, []byte("\n"))
		e.Problem = "a value that begins with * must stand in quotes; aliases (*name) are not read"
		return e
	}
	if m := regexp.MustCompile(`^line (\d+): `).FindStringSubmatch(text); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
		if strings.HasPrefix(text, "did not find expected") {
			e.Line++ // its parser counts from 0, its scanner from 1
		}
	}
	text = regexp.MustCompile("'[^']*'|\"[^\"]*\"|`[^`]*`").ReplaceAllStringFunc(text, func(quoted string) string {
		if mark := quoted[1 : len(quoted)-1]; len(mark) == 1 && strings.Contains(",:]}[{-?", mark) {
			return quoted // what YAML looked for, not what the file says
		}
		return "…"
	})
	e.Problem = "not YAML: " + text
	return e
}

func readBounded(path string, limit int64) (text []byte, err error) {
	f, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	text, err = io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s: larger than %d bytes", path, limit)
	}
	return text, err
}
