package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/causewayhq/causeway/handlers/admin"
)

// finding returns the first finding whose What begins so.
func finding(t *testing.T, r admin.Report, what string) admin.Finding {
	t.Helper()
	for _, f := range r.Findings {
		if strings.HasPrefix(f.What, what) {
			return f
		}
	}
	t.Fatalf("nothing says %q: %+v", what, r.Findings)
	return admin.Finding{}
}

func localReportOf(t *testing.T, args ...string) (admin.Report, ran) {
	t.Helper()
	got := runCommand(t, append([]string{"doctor", "--json"}, args...)...)
	var r admin.Report
	if err := json.Unmarshal([]byte(got.out), &r); err != nil {
		t.Fatalf("%v: %s%s", err, got.out, got.err)
	}
	if got.code != exitFailed || r.OK {
		t.Errorf("exit code %d, ok %v", got.code, r.OK)
	}
	return r, got
}

// localConfig names ports where nothing listens.
func localConfig(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("listen: %q\nadmin: {listen: %q}\nnats: {embedded: {listen: %q}}\nstore: {url: \"sqlite:data\", reserve: 1MiB}\n%s",
		freePort(t), freePort(t), freePort(t), sampleEndpoint)
}

func TestLocalDoctorFindsNothingElse(t *testing.T) {
	inFolder(t, map[string]string{"causeway.yaml": localConfig(t), "data/causeway.lock": "{}"})
	r, got := localReportOf(t)
	if f := finding(t, r, "no gateway answers"); f.Level != "error" || f.Do != "causeway serve" {
		t.Errorf("%+v", f)
	}
	for _, what := range []string{"free", "free space", "nothing holds the store"} {
		if f := finding(t, r, what); f.Level != "info" {
			t.Errorf("%+v", f)
		}
	}
	if !strings.Contains(got.err, "1 error, 0 warnings") {
		t.Errorf("%q", got.err)
	}
	left, err := filepath.Glob("data/.doctor-*")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	human := runCommand(t, "doctor")
	if human.code != exitFailed || !strings.HasPrefix(human.out, "error    no gateway answers: http://127.0.0.1:") {
		t.Errorf("%d\n%s", human.code, human.out)
	}
}

func TestLocalDoctorNamesThePortsOwner(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	inFolder(t, map[string]string{"causeway.yaml": fmt.Sprintf("listen: %q\nadmin: {listen: %q}\n%s", l.Addr(), freePort(t), sampleEndpoint)})
	r, _ := localReportOf(t)
	f := finding(t, r, "the port is in use")
	if f.Level != "error" || !strings.Contains(f.Name, "listen "+l.Addr().String()) {
		t.Errorf("%+v", f)
	}
	if _, err := os.Stat("/proc/net/tcp"); err == nil && !strings.Contains(f.Name, fmt.Sprintf("by process %d (", os.Getpid())) {
		t.Errorf("the owner is this process: %+v", f)
	}
	finding(t, r, "the store's folder is not there yet")
}

// serve says the same of a port that is taken as doctor does: which field, whose, and
// what to do.
func TestServeNamesThePortsOwner(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test on loopback
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	for field, config := range map[string]string{
		"listen":       fmt.Sprintf("listen: %q\nadmin: {listen: %q}\n%s", l.Addr(), freePort(t), sampleEndpoint),
		"admin.listen": fmt.Sprintf("listen: %q\nadmin: {listen: %q}\n%s", freePort(t), l.Addr(), sampleEndpoint),
	} {
		inFolder(t, map[string]string{"causeway.yaml": config})
		got := runCommand(t, "serve")
		want := fmt.Sprintf("the port is in use: %s %s by ", field, l.Addr())
		if got.code != exitUsage || !strings.Contains(got.err, want) || !strings.Contains(got.err, "choose another "+field) {
			t.Errorf("%d %q, want %q", got.code, got.err, want)
		}
	}
}

func TestLocalDoctorNamesTheHolder(t *testing.T) {
	inFolder(t, map[string]string{
		"causeway.yaml":      localConfig(t),
		"data/causeway.lock": fmt.Sprintf(`{"pid": %d, "host": "gw-1", "since": "2026-07-01T08:00:00Z"}`, os.Getpid()),
	})
	f, err := os.Open("data/causeway.lock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	r, _ := localReportOf(t)
	got := finding(t, r, "the store is held")
	if got.Level != "error" || !strings.HasPrefix(got.Name, fmt.Sprintf("by process %d on gw-1", os.Getpid())) || got.Since == nil || !got.Since.Equal(sampleTime) {
		t.Errorf("%+v", got)
	}
}

// TestLocalDoctorReadsABadConfiguration: each mistake with its line, and what the
// readable parts say is still looked at.
func TestLocalDoctorReadsABadConfiguration(t *testing.T) {
	inFolder(t, map[string]string{"causeway.yaml": localConfig(t) + "lisen: x\nlog: {level: loud}\n"})
	r, _ := localReportOf(t)
	var lines []string
	for _, f := range r.Findings {
		if f.What == "the configuration is not right" {
			lines = append(lines, f.Name)
		}
	}
	all := strings.Join(lines, "\n")
	if len(lines) != 2 || !strings.Contains(all, "causeway.yaml:") || !strings.Contains(all, "lisen") || !strings.Contains(all, "log.level") {
		t.Errorf("%q", lines)
	}
	finding(t, r, "the store's folder is not there yet")
}

func TestLocalDoctorWithoutAnything(t *testing.T) {
	inFolder(t, nil)
	r, _ := localReportOf(t, "--config", "nowhere.yaml")
	if f := finding(t, r, "the configuration cannot be read"); f.Level != "error" || !strings.Contains(f.Name, "nowhere.yaml") {
		t.Errorf("%+v", f)
	}
}

func TestLocalDoctorSeesAFileInTheStoresPlace(t *testing.T) {
	inFolder(t, map[string]string{"causeway.yaml": localConfig(t), "data": "a file"})
	r, _ := localReportOf(t)
	if f := finding(t, r, "the store must be a folder"); f.Level != "error" {
		t.Errorf("%+v", f)
	}
}

func TestDoctorTellsAnAnsweredRefusal(t *testing.T) {
	s := gatewayUnderTest(t, sampleAPI())
	inFolder(t, nil)
	got := runCommand(t, "doctor", "--admin", s.URL, "--token", "not-a-token-of-it")
	if got.code != exitFailed || got.out != "" || !strings.Contains(got.err, "does not know this admin token") {
		t.Errorf("%d %q %q", got.code, got.out, got.err)
	}
}
