package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/causewayhq/causeway/gateway"
)

// mediaCommand looks at files.
func (c *cli) mediaCommand() *cobra.Command {
	media := &cobra.Command{
		Use:   "media",
		Short: "Files: those that customers sent, and those to be sent",
	}
	media.AddCommand(c.mediaListCommand(), c.mediaGetCommand(), c.mediaPutCommand())
	return media
}

type mediaLines struct {
	Media []mediaLine `json:"media"`
	Next  int64       `json:"next"`
}

type mediaLine struct {
	Event      string             `json:"event"`
	Account    string             `json:"account"`
	ReceivedAt time.Time          `json:"received_at"`
	State      gateway.MediaState `json:"state"`
	File       string             `json:"file"`
	Size       int64              `json:"size"`
	MIME       string             `json:"mime"`
	Reason     string             `json:"reason"`
	Tries      int                `json:"tries"`
	NextAt     time.Time          `json:"next_at"`
}

func (c *cli) mediaListCommand() *cobra.Command {
	var event, account, state, before string
	var limit int
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the files that events refer to, newest first",
		Long: `List the files that events refer to, newest first.

States: pending (to be fetched, or to be tried again at the time shown), ready,
unavailable. Reasons of the last: gone (the platform has it no more), expired (its id
ended before it could be fetched), too_large, forbidden_address (it is said to lie
somewhere else than at the platform), damaged, refused.`,
		Example: "  causeway media ls --state pending\n  causeway media ls --event ev_…\n  causeway media ls --account shop-a --state unavailable",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := query("event", event, "account", account, "state", state, "before", before, "limit", number(limit))
			return fetched(cmd, c, q, printMedia, "media")
		},
	}
	cmd.Flags().StringVar(&event, "event", "", "only the file of this event")
	cmd.Flags().StringVar(&account, "account", "", "only of this account")
	cmd.Flags().StringVar(&state, "state", "", "only in this state: pending, ready, unavailable")
	cmd.Flags().StringVar(&before, "before", "", "to read on: the number that the list ends with")
	cmd.Flags().IntVar(&limit, "limit", 50, "at most this many")
	return cmd
}

func printMedia(w io.Writer, list mediaLines) {
	rows := make([][]string, 0, len(list.Media))
	for i := range list.Media {
		m := &list.Media[i]
		what := m.File
		switch m.State {
		case gateway.MediaPending:
			what = "next try " + instant(m.NextAt) + " (" + amount(int64(m.Tries), "try", "tries") + " so far)"
		case gateway.MediaUnavailable:
			what = printable(m.Reason, 40)
		default: // ready: the file's name
		}
		rows = append(rows, []string{m.Event, m.Account, instant(m.ReceivedAt), string(m.State), orDash(printable(m.MIME, 30)), dashZero(m.Size), what})
	}
	table(w, "no files", []string{"EVENT", "ACCOUNT", "RECEIVED", "STATE", "TYPE", "BYTES", "FILE"}, rows)
	if list.Next > 0 {
		_, _ = fmt.Fprintf(w, "\nthere is more: --before %d\n", list.Next)
	}
}

func (c *cli) mediaGetCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "get FILE",
		Short: "Write the bytes of a file",
		Long: `Write the bytes of a file to standard output, or to the path given with -o, which
must not exist. It is what a customer sent: nothing has looked for viruses in it.`,
		Example: "  causeway media get 2cf24dba… -o picture.jpg",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := c.adminClient()
			if err != nil {
				return err
			}
			if !gateway.ValidFile(args[0]) {
				return usageError("a file is named by 64 hexadecimal digits in lower case; causeway media ls shows them")
			}
			to := c.out
			if out != "" {
				f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the operator's choice
				if err != nil {
					return failed(err)
				}
				if err = a.download(cmd.Context(), f, nil, "media", args[0]); err != nil {
					_ = f.Close()
					_ = os.Remove(out) // nothing half
					return err
				}
				return failed(f.Close())
			}
			return a.download(cmd.Context(), to, nil, "media", args[0])
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "write to this path")
	return cmd
}

func (c *cli) mediaPutCommand() *cobra.Command {
	var kind string
	cmd := &cobra.Command{
		Use:     "put PATH",
		Short:   "Put a file in, so that replies can send it",
		Long:    "Put a file in, so that replies can send it by the name printed. The same bytes twice are one file.",
		Example: "  causeway media put price-list.pdf\n  causeway media put voice.ogg --type \"audio/ogg; codecs=opus\"",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := c.adminClient()
			if err != nil {
				return err
			}
			if kind == "" {
				kind = mime.TypeByExtension(filepath.Ext(args[0]))
			}
			if kind == "" {
				return usageError("the type of %s is not known by its name; give it with --type", printable(args[0], 60))
			}
			raw, err := a.upload(cmd.Context(), args[0], kind)
			if err != nil {
				return err
			}
			return show(c, raw, func(w io.Writer, f gateway.File) {
				fields(w, "file", f.File, "type", printable(f.MIME, 60), "bytes", strconv.FormatInt(f.Size, 10))
			})
		},
	}
	cmd.Flags().StringVar(&kind, "type", "", "its media type; by default what its name ends with tells")
	return cmd
}

// download writes the bytes that a route answers with.
func (a *adminClient) download(ctx context.Context, w io.Writer, query url.Values, path ...string) error {
	res, err := a.open(ctx, http.MethodGet, "", nil, 0, query, path)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if _, err := io.Copy(w, res.Body); err != nil {
		return failed(errors.New("the connection or the output broke before the end"))
	}
	return nil
}

// upload posts a file.
func (a *adminClient) upload(ctx context.Context, name, kind string) (json.RawMessage, error) {
	f, err := os.Open(name) //nolint:gosec // the operator's choice
	if err != nil {
		return nil, failed(err)
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil {
		return nil, failed(err)
	}
	res, err := a.open(ctx, http.MethodPost, kind, f, st.Size(), nil, []string{"media"})
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil || !json.Valid(b) {
		return nil, a.stranger(res.StatusCode)
	}
	return b, nil
}

// open makes a call whose body or answer is a file; the caller closes the answer.
func (a *adminClient) open(ctx context.Context, method, kind string, body io.Reader, size int64, query url.Values, path []string) (*http.Response, error) {
	target, err := a.route(query, path)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, target.String(), body)
	if err != nil {
		return nil, usageError("the admin URL cannot be called: %s is not a URL", a.base.Redacted())
	}
	if body != nil {
		req.ContentLength = size
		req.Header.Set("Content-Type", kind)
	}
	req.Header.Set("User-Agent", "causeway-cli")
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	res, err := a.http.Do(req)
	if err != nil {
		return nil, a.unreachable(ctx, err)
	}
	if res.StatusCode/100 != 2 {
		defer func() { _ = res.Body.Close() }()
		answer, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
		if err != nil {
			return nil, a.unreachable(ctx, err)
		}
		return nil, a.refused(res, answer, path)
	}
	return res, nil
}
