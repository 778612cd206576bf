//go:build linux || darwin

package egress

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

const childURL = "EGRESS_TEST_CHILD_URL"

// TestFrozenChild is the process that TestFrozenProcess stops: it makes one call
// and prints what came of it.
func TestFrozenChild(t *testing.T) {
	target := os.Getenv(childURL)
	if target == "" {
		t.Skip("run by TestFrozenProcess")
	}
	c := client(t, Options{
		TLS:        &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a peer of this test with a certificate of its own
		TLSTimeout: time.Minute,
	})
	_, err := c.Do(post(t.Context(), t, target, "late"), time.Now().Add(time.Second))
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v", err)
	}
	fmt.Fprintf(os.Stderr, "outcome %s %v\n", e.Word, e.Written)
}

// A process that is stopped in the middle of a call, with voidAfter passing
// meanwhile, writes nothing of the request when it goes on.
func TestFrozenProcess(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	certificates := s.TLS.Certificates
	s.Close()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()

	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFrozenChild$") //nolint:gosec // this test binary
	child.Env = append(os.Environ(), childURL+"=https://"+l.Addr().String()+"/")
	out, err := child.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if tcp, ok := l.(*net.TCPListener); ok {
		_ = tcp.SetDeadline(time.Now().Add(time.Minute))
	}
	raw, err := l.Accept() // the child has dialed and waits for the handshake
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// Everything that the child waits for arrives while it stands still.
	got := make(chan string, 1)
	go func() {
		c := tls.Server(raw, &tls.Config{Certificates: certificates, MinVersion: tls.VersionTLS12})
		defer func() { _ = c.Close() }()
		buf := make([]byte, 4096)
		n, _ := c.Read(buf) // handshake and, if it comes, the request
		got <- string(buf[:n])
	}()
	<-time.After(1500 * time.Millisecond) // voidAfter is a second after the call began
	if err := child.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	outcome := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "outcome ") {
			outcome = lines.Text()
		}
	}
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	if outcome != "outcome void false" {
		t.Errorf("got %q", outcome)
	}
	if request := <-got; request != "" {
		t.Errorf("the request arrived: %q", request)
	}
}
