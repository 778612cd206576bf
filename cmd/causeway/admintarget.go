package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/causewayhq/causeway/config"
)

// adminTarget is where the admin API is and with what to ask it.
type adminTarget struct {
	base    *url.URL
	token   string
	noToken string // why token is empty, for people
}

// adminTarget finds the gateway: --admin or CAUSEWAY_ADMIN_URL, else admin.listen
// of the configuration. The token: --token or CAUSEWAY_ADMIN_TOKEN, else the one
// with the highest role in the configuration, else the file admin.token in the
// store's folder. A token that cannot be found is not an error here, since a
// gateway that does not answer is the more important news. The configuration is
// read only when something of it is needed.
func (c *cli) adminTarget() (*adminTarget, error) {
	t := &adminTarget{token: c.token}
	var cfg *config.Config
	var cfgErr error
	if c.adminURL == "" || c.token == "" {
		if cfg, cfgErr = c.readConfig(); cfgErr != nil {
			if part, err := c.readClientConfig(); err == nil {
				cfg, cfgErr = part, nil
			}
		}
	}
	switch {
	case c.adminURL != "":
		u, err := parseAdminURL(c.adminURL)
		if err != nil {
			return nil, err
		}
		t.base = u
	case cfgErr != nil:
		return nil, usageError("%w: %w\ngive --admin URL and --token TOKEN, or mend the file", errNoTarget, cfgErr)
	default:
		t.base = &url.URL{Scheme: "http", Host: reachableHost(cfg.Admin.Listen)}
	}
	if t.token == "" && cfg != nil {
		t.token, t.noToken = findToken(cfg)
	}
	if t.token == "" && cfgErr != nil {
		t.noToken = "the configuration, which may name one, cannot be read"
	}
	if strings.ContainsFunc(t.token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, usageError("the admin token holds characters that no token has; check --token or CAUSEWAY_ADMIN_TOKEN")
	}
	return t, nil
}

// errNoTarget is wrapped when nothing says where the gateway is.
var errNoTarget = errors.New("the configuration does not say where the gateway is") //nolint:gochecknoglobals // a sentinel error is a constant

// readConfig loads the configuration. Where none was asked for and none is
// there, the defaults stand in, as for a gateway started without one.
func (c *cli) readConfig() (*config.Config, error) {
	cfg, err := config.Load(c.configPath, os.LookupEnv)
	if err == nil {
		return cfg, nil
	}
	if c.configPath == defaultConfigPath {
		if _, missing := os.Stat(c.configPath); errors.Is(missing, fs.ErrNotExist) {
			cfg = config.Default()
			cfg.Complete()
			return cfg, nil
		}
	}
	return nil, err
}

// readClientConfig reads only listen, admin and store of the configuration. An operator's
// shell mostly lacks the variables that hold the platforms' secrets, and a file
// with a mistake elsewhere still says where the running gateway is.
func (c *cli) readClientConfig() (*config.Config, error) {
	text, err := os.ReadFile(c.configPath)
	if err != nil {
		return nil, err
	}
	var part struct {
		Listen yaml.Node `yaml:"listen"`
		Admin  yaml.Node `yaml:"admin"`
		Store  yaml.Node `yaml:"store"`
	}
	if err := yaml.Unmarshal(text, &part); err != nil {
		return nil, err
	}
	// One endpoint is required; this one is never used.
	doc := map[string]any{"endpoints": []map[string]string{{
		"name": "none", "platform": "whatsapp", "app_secret": strings.Repeat("0", 32), "verify_token": strings.Repeat("0", 32),
	}}}
	if part.Listen.Kind != 0 {
		doc["listen"] = &part.Listen
	}
	if part.Admin.Kind != 0 {
		doc["admin"] = &part.Admin
	}
	if part.Store.Kind != 0 {
		doc["store"] = &part.Store
	}
	if text, err = yaml.Marshal(doc); err != nil {
		return nil, err
	}
	return config.Parse(c.configPath, text, os.LookupEnv)
}

// defaultConfigPath is the default of --config.
const defaultConfigPath = "causeway.yaml"

// parseAdminURL reads --admin; "host:port" means http.
func parseAdminURL(s string) (*url.URL, error) {
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, usageError(`the admin URL is not right; write it like "http://127.0.0.1:8081"`)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, usageError("the admin URL must have no user, password, query or fragment; the token goes to --token")
	}
	return u, nil
}

// reachableHost makes an address to connect to of one to listen on.
func reachableHost(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
		if ip != nil && ip.To4() == nil {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port)
}

// findToken returns a token, or why there is none.
func findToken(cfg *config.Config) (token, why string) {
	for _, role := range []string{"admin", "operator", "viewer"} {
		for _, t := range cfg.Admin.Tokens {
			if t.Role == role && t.Token != "" {
				return t.Token.Reveal(), ""
			}
		}
	}
	path := filepath.Join(cfg.Store.Dir(), adminTokenFile)
	b, err := os.ReadFile(path) //nolint:gosec // the folder is the operator's own
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Sprintf("neither the configuration nor %s holds one", path)
	case errors.Is(err, fs.ErrPermission):
		return "", path + " may be read by the gateway's user only"
	case err != nil:
		return "", path + " cannot be read"
	}
	if token = strings.TrimSpace(string(b)); token == "" {
		return "", path + " is empty"
	}
	return token, ""
}
