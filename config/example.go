package config

import _ "embed"

//go:embed example.yaml
var example string

// Example is an annotated configuration, printed by "config init". It loads
// and validates once the environment variables it names are set.
func Example() string { return example }
