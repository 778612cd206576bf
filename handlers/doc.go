// Package handlers is the front door: it reads a callback within its limits,
// has its platform verify it, archives the bytes and only then answers 200.
package handlers
