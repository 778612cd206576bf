package main

import "github.com/spf13/cobra"

// commands lists every command in the order of the help page.
func (c *cli) commands() []*cobra.Command {
	return []*cobra.Command{
		c.demoCommand(), c.devCommand(), c.serveCommand(), c.configCommand(), c.doctorCommand(), c.sumsCommand(),
		c.archiveCommand(), c.rejectsCommand(), c.replayCommand(), c.deadCommand(),
		c.appsCommand(), c.accountsCommand(), c.tailCommand(), c.pauseCommand(), c.resumeCommand(), c.convCommand(), c.sendCommand(), c.messagesCommand(), c.mediaCommand(),
		c.adoptCommand(), c.natsCommand(), c.sandboxCommand(), c.simulateCommand(), c.benchCommand(), c.versionCommand(),
	}
}
