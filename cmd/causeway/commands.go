package main

import "github.com/spf13/cobra"

// commands lists every command in the order of the help page.
func (c *cli) commands() []*cobra.Command {
	return []*cobra.Command{
		c.serveCommand(), c.versionCommand(),
	}
}
