package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/handlers/wecom"
	"github.com/causewayhq/causeway/handlers/wecom/wecomtest"
)

// simulatedMember is the made-up member of the corp.
const simulatedMember = "LinXiaoyu"

// wecomKinds are the kinds of callback of a self-built app that can be made.
func wecomKinds() []string { return []string{"text", "image", "voice", "event"} }

func (c *cli) simulateWeComCommand() *cobra.Command {
	var s simulation
	var event, key string
	cmd := &cobra.Command{
		Use:   "wecom [" + strings.Join(wecomKinds(), "|") + "]",
		Short: "Send WeCom callbacks, encrypted and signed as WeCom does it",
		Long: `Send WeCom callbacks of a self-built app to a running gateway, encrypted and signed as
WeCom does it (default: a text). Every delivery has its own nonce and ciphertext, also
of the same message. --file is the inner XML; an envelope with Encrypt in it is only
signed.` + simulateHelp,
		Example: `  causeway simulate wecom --text "你好"
  causeway simulate wecom --count 30 --customers 10
  causeway simulate wecom event --event click --key MENU_ORDERS
  causeway simulate wecom --file inner.xml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.simulateWeCom(cmd.Context(), &s, event, key, args)
		},
	}
	s.flags(cmd, simulatedMember)
	cmd.Flags().StringVar(&event, "event", "click", "event: its name, such as click, view, enter_agent")
	cmd.Flags().StringVar(&key, "key", "MENU_ORDERS", "event: its EventKey")
	return cmd
}

func (c *cli) simulateWeCom(ctx context.Context, s *simulation, event, key string, args []string) error {
	kind, err := s.kind(args, wecomKinds())
	if err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	cfg, err := c.loadConfig()
	if err != nil {
		return err
	}
	endpoint, account, target, err := s.target(cfg, "wecom")
	if err != nil {
		return err
	}
	platform, err := wecomtest.New(wecomtest.Options{
		CorpID: account.CorpID, AgentID: account.AgentID, Secret: "unused", CallbackURL: target,
		Token: endpoint.Token.Reveal(), EncodingAESKey: endpoint.EncodingAESKey.Reveal(), LogSize: 1,
		Now: func() time.Time { return time.Now().Add(-s.ago) },
	})
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("endpoint %s: %w", endpoint.Name, err)}
	}
	defer func() { _ = platform.Close() }()
	post := func(inner []byte) func(context.Context) (int, error) {
		return func(ctx context.Context) (int, error) {
			status, _, err := platform.Post(ctx, inner)
			return status, err
		}
	}
	if s.file != "" {
		body, err := s.read(c.in)
		if err != nil {
			return err
		}
		if encrypted, ok := encryptedPart(body); ok {
			client := simulationClient(5*time.Second, 1+s.copies)
			defer client.CloseIdleConnections()
			return s.send(ctx, c, target, "file", func(int) (simulatedCallback, error) {
				return simulatedCallback{post: func(ctx context.Context) (int, error) {
					return postEnvelope(ctx, client, endpoint, target, encrypted, body)
				}}, nil
			})
		}
		return s.send(ctx, c, target, "file", func(int) (simulatedCallback, error) { return simulatedCallback{post: post(body)}, nil })
	}
	return s.send(ctx, c, target, kind, func(n int) (simulatedCallback, error) {
		id := s.id
		if id == "" {
			if id, err = wecomMessageID(); err != nil {
				return simulatedCallback{}, err
			}
		}
		from := nthName(s.customer, (n-1)%s.customers)
		msgID := wecomtest.Field{Name: "MsgId", Value: id, Number: true}
		var inner []byte
		switch kind {
		case "event": // events have no id
			id = ""
			inner = platform.Inner(from, "event", wecomtest.Field{Name: "Event", Value: event}, wecomtest.Field{Name: "EventKey", Value: nthText(key, n, s.count)})
		case "image":
			inner = platform.Inner(from, kind, wecomtest.Field{Name: "PicUrl", Value: "https://wework.qpic.example.invalid/0"}, wecomtest.Field{Name: "MediaId", Value: "media-" + id}, msgID)
		case "voice":
			inner = platform.Inner(from, kind, wecomtest.Field{Name: "MediaId", Value: "media-" + id}, wecomtest.Field{Name: "Format", Value: "amr"}, msgID)
		default:
			inner = platform.Inner(from, kind, wecomtest.Field{Name: "Content", Value: nthText(s.text, n, s.count)}, msgID)
		}
		return simulatedCallback{id: id, post: post(inner)}, nil
	})
}

// encryptedPart returns the text of the one Encrypt element of an envelope.
func encryptedPart(body []byte) (string, bool) {
	_, rest, found := bytes.Cut(body, []byte("<Encrypt>"))
	inside, _, closed := bytes.Cut(rest, []byte("</Encrypt>"))
	if !found || !closed {
		return "", false
	}
	text := strings.TrimSpace(string(inside))
	text = strings.TrimSuffix(strings.TrimPrefix(text, "<![CDATA["), "]]>")
	return strings.TrimSpace(text), true
}

// postEnvelope signs an envelope that is encrypted already.
func postEnvelope(ctx context.Context, client *http.Client, e config.Endpoint, target, encrypted string, body []byte) (int, error) {
	crypt, err := wecom.NewCrypt(e.Token.Reveal(), e.EncodingAESKey.Reveal(), nil)
	if err != nil {
		return 0, err
	}
	stamp, nonce := strconv.FormatInt(time.Now().Unix(), 10), rand.Text()[:10]
	sep := "?"
	if strings.Contains(target, "?") {
		sep = "&"
	}
	signed := target + sep + "msg_signature=" + crypt.Sign(stamp, nonce, encrypted) + "&timestamp=" + stamp + "&nonce=" + nonce
	return postCallback(ctx, client, signed, "text/xml", body, "User-Agent", "Mozilla/4.0")
}

// wecomMessageID makes a MsgId, a 64-bit number.
func wecomMessageID() (string, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(1_000_000_000_000_000_000))
	if err != nil {
		return "", err
	}
	return strconv.FormatInt(7_000_000_000_000_000_000+n.Int64(), 10), nil
}

// simulationClient follows no redirect and keeps as many connections as are used
// at once.
func simulationClient(timeout time.Duration, connections int) *http.Client {
	return &http.Client{
		Timeout:       timeout,
		Transport:     &http.Transport{MaxIdleConnsPerHost: min(connections, 1000), IdleConnTimeout: time.Minute, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func postCallback(ctx context.Context, client *http.Client, target, contentType string, body []byte, headers ...string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", contentType)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection is used again
	return res.StatusCode, nil
}

// nthNumber is the n-th customer behind a phone number, from 0.
func nthNumber(first string, n int) string {
	digits := strings.TrimPrefix(first, "+")
	v, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || n == 0 {
		return first
	}
	return strings.TrimSuffix(first, digits) + fmt.Sprintf("%0*d", len(digits), v+uint64(n)) //nolint:gosec // n is not negative
}

// nthName is the n-th customer behind a name, from 0.
func nthName(first string, n int) string {
	if n == 0 {
		return first
	}
	return first + "-" + strconv.Itoa(n+1)
}

// nthText tells the texts of several callbacks apart.
func nthText(text string, n, of int) string {
	if of == 1 {
		return text
	}
	return text + " " + strconv.Itoa(n)
}
