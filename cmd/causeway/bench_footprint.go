package main

import (
	"io"

	"github.com/spf13/cobra"
)

type footprintResult struct{}

func (*footprintResult) human(io.Writer)          {}
func (b *bench) footprintCommand() *cobra.Command { return &cobra.Command{Use: "footprint"} }
