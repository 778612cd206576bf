package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inFolder makes a working directory with these files.
func inFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return dir
}

const sampleEndpoint = `
endpoints:
  - {name: meta, platform: whatsapp, app_secret: "0123456789abcdef0123456789abcdef", verify_token: "verify-me-0000"}
`

func TestAdminTarget(t *testing.T) {
	tokens := "tokens: [{name: v, role: viewer, token: viewer-0123456789}, {name: a, role: admin, token: admin-0123456789}]"
	for name, c := range map[string]struct {
		files           map[string]string
		url, token      string // flags
		want, wantToken string
		wantWhy         string // noToken
		wantErr         string
	}{
		"flags alone":    {url: "https://gw.internal/causeway/", token: "t0ken", want: "https://gw.internal/causeway/", wantToken: "t0ken"},
		"host and port":  {url: "gw:8081", token: "t0ken", want: "http://gw:8081", wantToken: "t0ken"},
		"nothing at all": {want: "http://127.0.0.1:8081", wantWhy: filepath.Join("data", "admin.token")},
		"token file of the default store": {
			files: map[string]string{"data/admin.token": "made-by-serve\n"}, want: "http://127.0.0.1:8081", wantToken: "made-by-serve",
		},
		"configuration": {
			files: map[string]string{"causeway.yaml": "admin: {listen: \"0.0.0.0:9000\", " + tokens + "}" + sampleEndpoint},
			want:  "http://127.0.0.1:9000", wantToken: "admin-0123456789",
		},
		"token flag over configuration": {
			files: map[string]string{"causeway.yaml": "admin: {listen: \"[::]:9000\", " + tokens + "}" + sampleEndpoint}, token: "flag",
			want: "http://[::1]:9000", wantToken: "flag",
		},
		"token file of the configured store": {
			files: map[string]string{"causeway.yaml": "store: \"sqlite:kept\"" + sampleEndpoint, "kept/admin.token": "abc\n"},
			want:  "http://127.0.0.1:8081", wantToken: "abc",
		},
		"a variable that this shell lacks, elsewhere in the file": {
			files: map[string]string{"causeway.yaml": "admin: {listen: \"127.0.0.1:9001\"}\nstore: {url: \"sqlite:kept\"}\n" +
				"endpoints: [{name: m, platform: whatsapp, app_secret: \"${env:CAUSEWAY_TEST_NOT_SET}\", verify_token: x}]\n", "kept/admin.token": "abc"},
			want: "http://127.0.0.1:9001", wantToken: "abc",
		},
		"unreadable configuration, address given": {
			files: map[string]string{"causeway.yaml": "admin: ["}, url: "http://gw:1", want: "http://gw:1", wantWhy: "cannot be read",
		},
		"unreadable configuration":  {files: map[string]string{"causeway.yaml": "admin: ["}, wantErr: "causeway.yaml"},
		"user in the URL":           {url: "http://u:hunter2@gw", token: "t", wantErr: "no user"},
		"another scheme":            {url: "ftp://gw", token: "t", wantErr: "admin URL"},
		"no host":                   {url: "http://", token: "t", wantErr: "admin URL"},
		"a token with a line break": {url: "http://gw", token: "a\r\nX: y", wantErr: "characters that no token has"},
		"an empty token file":       {files: map[string]string{"data/admin.token": "\n"}, want: "http://127.0.0.1:8081", wantWhy: "is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			inFolder(t, c.files)
			got, err := (&cli{configPath: "causeway.yaml", adminURL: c.url, token: c.token}).adminTarget()
			if c.wantErr != "" {
				if codeOf(err) != exitUsage || !strings.Contains(err.Error(), c.wantErr) || strings.Contains(err.Error(), "hunter2") {
					t.Fatalf("error %v, want a usage error with %q", err, c.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.base.String() != c.want || got.token != c.wantToken || !strings.Contains(got.noToken, c.wantWhy) || (c.wantWhy == "") != (got.noToken == "") {
				t.Errorf("%s, token %q, %q", got.base, got.token, got.noToken)
			}
		})
	}
}

// TestNamedConfigurationMustExist: only where none was asked for do the defaults
// stand in.
func TestNamedConfigurationMustExist(t *testing.T) {
	inFolder(t, nil)
	got := runCommand(t, "apps", "--config", "other.yaml")
	if got.code != exitUsage || !strings.Contains(got.err, "other.yaml") {
		t.Errorf("%d %q", got.code, got.err)
	}
}

// TestTokenFileIsUsed: a command with no flags works beside a gateway that made
// its own token.
func TestTokenFileIsUsed(t *testing.T) {
	s := gatewayUnderTest(t, sampleAPI())
	inFolder(t, map[string]string{"causeway.yaml": "admin: {listen: \"" + strings.TrimPrefix(s.URL, "http://") + "\"}" + sampleEndpoint, "data/admin.token": viewerToken + "\n"})
	if got := runCommand(t, "apps"); got.code != exitOK || !strings.Contains(got.out, "support") {
		t.Errorf("%d %q %q", got.code, got.out, got.err)
	}
}
