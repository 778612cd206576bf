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
