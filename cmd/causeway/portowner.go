package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// listen opens an address that a field of the configuration names.
func listen(field, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address) //nolint:noctx // it does not wait
	if err != nil {
		what, name, do := portTrouble(field, address, err)
		return nil, fmt.Errorf("%s: %s; %s", what, name, do)
	}
	return l, nil
}

// portTrouble says why nobody can listen at an address, which, and what to do.
func portTrouble(field, address string, err error) (what, name, do string) {
	name = field + " " + address
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		by := portOwner(address)
		if by == "" {
			by = "a process that this user may not see"
		}
		return "the port is in use", name + " by " + by, "stop that process, or choose another " + field
	case errors.Is(err, fs.ErrPermission):
		return "this user may not listen there", name, "choose a port above 1023, or grant CAP_NET_BIND_SERVICE"
	}
	return "nothing can listen there", name, "choose an address of this machine for " + field
}

// portOwner names the process that listens on the port of address, where the
// system tells (Linux, /proc of proc(5)) and this user may see it; else "".
func portOwner(address string) string {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return ""
	}
	inodes := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		listeners(table, uint16(n), inodes)
	}
	if len(inodes) == 0 {
		return ""
	}
	files, _ := filepath.Glob("/proc/[0-9]*/fd/[0-9]*")
	for _, file := range files {
		target, err := os.Readlink(file)
		if err != nil || !inodes[strings.TrimSuffix(strings.TrimPrefix(target, "socket:["), "]")] {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(file, "/")[2])
		if err != nil {
			continue
		}
		if name := processName(pid); name != "" {
			return fmt.Sprintf("process %d (%s)", pid, name)
		}
		return fmt.Sprintf("process %d", pid)
	}
	return ""
}

// listeners adds the inodes of sockets that listen on port. A line of the table:
// "sl local_address rem_address st ... uid timeout inode", addresses in
// hexadecimal as IP:PORT, st 0A for listening.
func listeners(table string, port uint16, inodes map[string]bool) {
	f, err := os.Open(table) //nolint:gosec // one of two fixed names
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	suffix := fmt.Sprintf(":%04X", port)
	for scan := bufio.NewScanner(f); scan.Scan(); {
		col := strings.Fields(scan.Text())
		if len(col) > 9 && strings.HasSuffix(col[1], suffix) && col[3] == "0A" {
			inodes[col[9]] = true
		}
	}
}

// processName is the command of a process on this machine, or "".
func processName(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	return printable(strings.TrimSpace(string(b)), 40)
}
