package unified

// Fill fills the template of a body, for tests from outside.
func Fill(body string, values map[string]string) []byte {
	t, err := parseBody(body)
	if err != nil {
		panic(err)
	}
	return t.fill(values, insideText)
}
