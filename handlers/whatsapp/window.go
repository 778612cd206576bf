package whatsapp

import (
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// CustomerWindow is when whatever is no template may go to a customer: within 24 hours
// of their last message or call; later Meta refuses it with 131047, mostly after it was
// accepted. Source: Meta, "Send messages", as of December 2025.
func CustomerWindow() gateway.CustomerWindow { return gateway.CustomerWindow{For: 24 * time.Hour} }
