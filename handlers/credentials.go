package handlers

// CredentialState is what became of trying an account's credentials.
type CredentialState string

// The states.
const (
	// CredentialsTaken: the platform took them for this very account.
	CredentialsTaken CredentialState = "ok"
	// CredentialsRefused: the platform answered, and a person has to act.
	CredentialsRefused CredentialState = "refused"
	// CredentialsUntried: the platform did not answer, or not about them, so
	// nothing is known.
	CredentialsUntried CredentialState = "unreachable"
)

// Credentials is the result of trying the credentials of one account without
// sending anything. The platforms' clients make it, doctor shows it. No field
// holds a secret, an id or a phone number.
type Credentials struct {
	State CredentialState
	// Code is the platform's code, a word of egress, or "http_" and a status;
	// empty with CredentialsTaken.
	Code string
	// Detail says what the code means, with the platform's own words where it
	// has some.
	Detail string
	// Do says what would mend it; empty with CredentialsTaken.
	Do string
}

// Fact is one thing that a platform tells of an account, for doctor. No field
// holds a secret, an id or a phone number.
type Fact struct {
	Level  string // "error", "warning" or "info"
	What   string
	Detail string // what the platform said about it; may be empty
	Do     string // what would mend it; empty when there is nothing to mend
}

// Fact makes one of a result.
func (c Credentials) Fact() Fact {
	f := Fact{Level: "info", What: "the platform takes the account's credentials", Detail: c.Detail, Do: c.Do}
	switch c.State {
	case CredentialsTaken:
	case CredentialsRefused:
		f.Level, f.What = "error", "the platform refuses the account's credentials"
	case CredentialsUntried:
		f.Level, f.What = "warning", "the account's credentials could not be tried"
	}
	if c.Code != "" {
		f.Detail = c.Code + ", " + c.Detail
	}
	return f
}
