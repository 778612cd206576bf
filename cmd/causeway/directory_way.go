package main

import (
	"net/http"
	"time"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/handlers/egress"
)

// way is how the calls for an account leave this machine: by its proxy, or straight.
type way struct {
	out   *egress.Client // messages and questions
	slow  *egress.Client // uploads, which take longer
	pages *egress.Client // pages of customer service, whose answers are longer
}

// way is one for all accounts with the same proxy.
func (d *directory) way(acc *config.Account, uploads time.Duration) *way {
	w := d.ways[acc.Proxy]
	if w == nil {
		client := func(o egress.Options) *egress.Client {
			if u := acc.ProxyURL(); u != nil {
				o.Proxy = http.ProxyURL(u)
			}
			return egress.New(o)
		}
		w = &way{out: client(egress.Options{}), slow: client(egress.Options{Timeout: uploads}), pages: client(egress.Options{MaxBody: maxPage})}
		d.ways[acc.Proxy] = w
	}
	return w
}
