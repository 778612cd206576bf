package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/causewayhq/causeway/config"
)

// Files in the store's folder that hold what serve made by itself.
const (
	adminTokenFile = "admin.token"
	defaultWorker  = "worker"
)

type adminToken struct{ name, role, token string }

// adminTokens are those of the configuration, or one made once and kept in the
// store's folder, readable by its owner only.
func adminTokens(cfg *config.Config) ([]adminToken, error) {
	if len(cfg.Admin.Tokens) == 0 {
		token, err := ownSecret(cfg.Store.Dir(), adminTokenFile)
		if err != nil {
			return nil, err
		}
		return []adminToken{{"local", "admin", token}}, nil
	}
	out := make([]adminToken, 0, len(cfg.Admin.Tokens))
	for _, t := range cfg.Admin.Tokens {
		out = append(out, adminToken{t.Name, t.Role, t.Token.Reveal()})
	}
	return out, nil
}

// ownSecret reads the file, or makes it with 26 random characters.
func ownSecret(dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	b, err := os.ReadFile(path) //nolint:gosec // a file of our own folder
	if err == nil && len(strings.TrimSpace(string(b))) > 0 {
		return strings.TrimSpace(string(b)), nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	secret := rand.Text()
	if err := os.WriteFile(path, []byte(secret+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	return secret, nil
}

// natsPassword is the password of a user of the embedded server that was made, kept in
// the store's folder.
func natsPassword(dir, user string) (string, error) { return ownSecret(dir, user+".password") }
