package stream

import (
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// Conn is a connection to the broker. The alias lets cmd hold one without
// knowing the client library.
type Conn = nats.Conn

// Outside names NATS servers that are not ours.
type Outside struct {
	URL       string // several with commas
	CredsFile string // or NkeyFile, or User and Password
	NkeyFile  string // holds a seed
	User      string
	Password  string
	// CA, Cert and Key are files in PEM, for servers with TLS; "" for the system's
	// authorities, and for no certificate of our own.
	CA, Cert, Key string
}

// Dial connects to servers outside and stays connected: it tries for ever, a
// quarter of a second apart. Publishing while away is an error at once, since
// the ledger offers again. The error carries no password.
func (o Outside) Dial() (*Conn, error) {
	var options []nats.Option
	switch {
	case o.CredsFile != "":
		options = append(options, nats.UserCredentials(o.CredsFile))
	case o.NkeyFile != "":
		nkey, err := nats.NkeyOptionFromSeed(o.NkeyFile)
		if err != nil {
			return nil, fmt.Errorf("connect to nats: %s: %w", o.NkeyFile, err)
		}
		options = append(options, nkey)
	case o.User != "":
		options = append(options, nats.UserInfo(o.User, o.Password))
	}
	if o.CA != "" {
		options = append(options, nats.RootCAs(o.CA))
	}
	if o.Cert != "" {
		options = append(options, nats.ClientCert(o.Cert, o.Key))
	}
	return Dial(o.URL, options...)
}

// Dial connects with the options given and those of every connection of the
// gateway.
func Dial(url string, options ...nats.Option) (*Conn, error) {
	options = append(options, nats.Name("causeway"), nats.MaxReconnects(-1), nats.ReconnectWait(250*time.Millisecond), nats.ReconnectBufSize(-1))
	nc, err := nats.Connect(url, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to nats: %w", err)
	}
	return nc, nil
}
