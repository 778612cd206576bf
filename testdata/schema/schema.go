// Package schema holds the published JSON Schemas for the binary to serve, in
// the folder where the repository publishes them: there is one copy. It is
// imported by cmd/causeway, which hands them to both listeners.
package schema

import _ "embed"

//go:embed event.json
var event []byte

//go:embed answer.json
var answer []byte

//go:embed send.json
var send []byte

//go:embed state.json
var state []byte

// Files returns the schemas by file name. The bytes are not to be changed.
func Files() map[string][]byte {
	return map[string][]byte{"event.json": event, "answer.json": answer, "send.json": send, "state.json": state}
}
