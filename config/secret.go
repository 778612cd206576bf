package config

import "fmt"

// Secret is a value that is never shown: whatever prints, logs or marshals it
// gets "***", or "" when it is empty. Reveal is the one way to the text.
type Secret string

const hidden = "***"

// Reveal returns the text, for the one who uses it.
func (s Secret) Reveal() string { return string(s) }

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// Format covers every verb, also those that do not fit a string and would
// print it raw.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// MarshalText covers JSON and everything else built on text.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalYAML covers YAML.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }
