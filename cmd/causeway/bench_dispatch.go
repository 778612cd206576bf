package main

import (
	"io"

	"github.com/spf13/cobra"
)

type (
	dispatchResult  struct{}
	footprintResult struct{}
)

func humanDispatch(io.Writer, []dispatchResult)   {}
func (*footprintResult) human(io.Writer)          {}
func (b *bench) dispatchCommand() *cobra.Command  { return &cobra.Command{Use: "dispatch"} }
func (b *bench) footprintCommand() *cobra.Command { return &cobra.Command{Use: "footprint"} }
