package wecom

import (
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// KfWindow is that of customer service, which sends up to five messages within 48 hours of each of the
// customer's (95001, 95002). Source: WeCom 94677.
func KfWindow() gateway.CustomerWindow {
	return gateway.CustomerWindow{For: 48 * time.Hour, Most: 5}
}
