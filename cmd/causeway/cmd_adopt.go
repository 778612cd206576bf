package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

const adoptLong = `Take over a broker whose streams belong to another store, or to this store before a
restore.

Store and broker belong together: the store's id and epoch stand in every stream. When
they differ, the gateway goes on archiving and acknowledging callbacks, but publishes and
offers nothing. Adopting empties the gateway's own streams (CW_EVENT, CW_READY_<app>,
CW_REPLY, CW_RESULT) in that broker, writes this store's id into them, and offers again
everything that is not settled in the store.

Lost are answers of workers in CW_REPLY that the gateway had not taken yet (their events
are handed out again) and the copies for observers. Streams of other programs are not
touched. Do not do it while another gateway uses the broker: it would stop that one.`

// adoptCommand takes over the streams of another store.
func (c *cli) adoptCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:     "adopt --yes",
		Short:   "Empty the gateway's streams in a broker of another store and take them over",
		Long:    adoptLong,
		Example: "  causeway doctor\n  causeway adopt --yes",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !yes {
				_, _ = fmt.Fprintf(c.err, "%s\n\n", adoptLong)
				return usageError("nothing was done; add --yes to do it")
			}
			err := posted(cmd, c, nil, nil, func(w io.Writer, _ json.RawMessage) {
				_, _ = fmt.Fprintln(w, "adopted: the streams are empty and belong to this store; what is not settled is offered again")
			}, "adopt")
			if errors.As(err, new(conflictError)) {
				return failed(errors.New("nothing was done: the streams are this store's already"))
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	return cmd
}
