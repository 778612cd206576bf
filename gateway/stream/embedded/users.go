package embedded

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"strings"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/stream"
)

// User is somebody who may connect over TCP.
type User struct {
	// Name is a gateway.ValidName; the user's inbox prefix is "_INBOX_<name>".
	Name     string
	Password string
	// Apps are the applications whose offers the user may take and answer.
	Apps []string
	// Observe lets the user subscribe to the copies for observers, cw.event.>
	// and cw.result.>, which hold what customers write, and to changes of states.
	Observe bool
	// Send are the accounts, and "pool:" and the names of the pools, from which the
	// user may write to anybody.
	Send []string
}

// checkUsers refuses what would leave a door open.
func checkUsers(users []User) error {
	seen := map[string]bool{gatewayUser: true}
	for _, u := range users {
		if !gateway.ValidName(u.Name) || seen[u.Name] {
			return fmt.Errorf("user %q: the name must be 1 to 40 lower-case letters, digits and inner hyphens, and used once", u.Name)
		}
		seen[u.Name] = true
		if len(u.Password) < 8 {
			return fmt.Errorf("user %q: the password must have at least 8 characters", u.Name)
		}
		for _, app := range u.Apps {
			if !gateway.ValidName(app) {
				return fmt.Errorf("user %q: %q cannot name an application", u.Name, app)
			}
		}
		for _, sender := range u.Send {
			if !gateway.ValidName(strings.TrimPrefix(sender, "pool:")) {
				return fmt.Errorf("user %q: %q cannot name an account or a pool", u.Name, sender)
			}
		}
	}
	return nil
}

// permissions are the user's rights in the server's words.
func permissions(u *User) *natsserver.Permissions {
	a := stream.Access{User: u.Name, Apps: u.Apps, Observe: u.Observe, Send: u.Send}
	r := a.Rights()
	p := &natsserver.Permissions{
		Publish:   &natsserver.SubjectPermission{Allow: r.Publish},
		Subscribe: &natsserver.SubjectPermission{Allow: r.Subscribe},
	}
	if len(r.Publish) == 0 {
		p.Publish.Deny = []string{">"} // an empty allow list would mean everything
	}
	return p
}

// door lets users in. It keeps digests of the passwords, compares them in
// constant time, and gives each user its rights.
type door struct{ users map[string]entry }

type entry struct {
	digest [sha256.Size]byte
	user   *natsserver.User
}

// newDoor knows the gateway itself, with every right and a password that nobody
// outside this process knows, and the configured users.
func newDoor(users []User, secret string) *door {
	d := &door{users: map[string]entry{
		gatewayUser: {sha256.Sum256([]byte(secret)), &natsserver.User{Username: gatewayUser}},
	}}
	for i := range users {
		u := &users[i]
		d.users[u.Name] = entry{sha256.Sum256([]byte(u.Password)), &natsserver.User{Username: u.Name, Permissions: permissions(u)}}
	}
	return d
}

// Check implements natsserver.Authentication. Without a known name and its
// password nobody passes, whatever else a client offers.
func (d *door) Check(c natsserver.ClientAuthentication) bool {
	if c.Kind() != natsserver.CLIENT {
		return false
	}
	o := c.GetOpts()
	e, known := d.users[o.Username]
	got := sha256.Sum256([]byte(o.Password))
	if subtle.ConstantTimeCompare(got[:], e.digest[:]) != 1 || !known {
		return false
	}
	c.RegisterUser(e.user)
	return true
}
