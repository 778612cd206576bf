package stream

import "testing"

func TestOlder(t *testing.T) {
	t.Parallel()
	for v, want := range map[string]bool{
		"2.10.29": true, "2.9": true, "1.11.9": true, "": true, "2.11.0": false, "2.11.0-RC.1": false, "2.15.2": false, "3.0.0": false, "2.11": false,
	} {
		if got := older(v, leastVersion); got != want {
			t.Errorf("%q is older than %s: %v", v, leastVersion, got)
		}
	}
}
