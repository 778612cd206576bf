// Command causeway is the gateway and everything an operator does with it.
//
// This package is where the parts meet: it reads the configuration, opens the
// store, starts the stages and the listeners, and implements the admin API over
// them. It holds no rule of its own about payloads, events or messages.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // for send windows, on machines that have none
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	if os.Getenv("GOGC") == "" {
		// Callbacks are short-lived garbage; a gateway has room for some more
		// of it, and collects half as often.
		debug.SetGCPercent(200)
	}
	code := run(ctx, stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr}, os.Args[1:])
	stop()
	os.Exit(code)
}

// endings are the signals that end a command in good order. A terminal that is closed
// does so as Ctrl-C does, or demo and dev would leave their folders behind; what was
// started with nohup is left alone.
func endings() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}
