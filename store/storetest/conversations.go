package storetest

import (
	"time"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// listed pages through a list, one at a time, and returns the conversations.
func (w *world) listed(q store.ConversationQuery) (out []gateway.ListedConversation) {
	w.Helper()
	for q.Limit = 1; ; {
		page, next, err := w.l.Conversations(w.ctx, q)
		w.must(err)
		out = append(out, page...)
		if next == 0 || len(out) > 100 {
			return out
		}
		q.After = next
	}
}

func (w *world) convs(list []gateway.ListedConversation, why bool) (out []string) {
	for _, v := range list {
		name := v.Conv
		if why {
			name += " " + v.Why
		}
		out = append(out, name)
	}
	return out
}

func conversationLists(w *world) {
	begun := w.now
	first := w.relay(w.message("a1", "1"), w.message("a2", "1"), w.message("a3", "1")).Pending[0]
	w.later(time.Minute)
	answered := w.say("b1", "2", "an answer")
	w.later(time.Minute)
	silent := w.say("c1", "3")
	w.later(time.Minute)
	refused := w.say("d1", "4", "an answer")
	w.send(refused, gateway.Outcome{Kind: gateway.OutcomeRejected, Code: "131047"})
	w.later(time.Minute)
	human := w.say("e1", "5")
	echo := w.echo("e2", "5", "w.e2", "")
	w.relay(echo)
	w.later(time.Minute)
	w.judge()
	late := w.message("f1", "6")
	late.Event.Origin, late.Wanted = gateway.OriginBackfill, nil
	w.relay(late)
	recovered, err := w.l.FindConversation(w.ctx, "whatsapp", "shop", phone("6"))
	w.must(err)
	w.later(time.Minute)
	waiting := w.relay(w.message("g1", "7")).Pending[0].Conv

	w.same("unanswered", w.convs(w.listed(store.ConversationQuery{List: store.ListUnanswered}), true),
		[]string{recovered + " recovered", refused + " settled", silent + " settled"})
	w.same("unanswered of an application", w.convs(w.listed(store.ConversationQuery{List: store.ListUnanswered, App: "bot"}), false), []string{refused, silent})
	w.same("unanswered of another account", w.listed(store.ConversationQuery{List: store.ListUnanswered, Account: "other"}), []gateway.ListedConversation(nil))
	w.same("waiting", w.listed(store.ConversationQuery{List: store.ListWaiting, Account: "shop", App: "bot"}), []gateway.ListedConversation{
		{Conv: first.Conv, Platform: "whatsapp", Account: "shop", Chat: gateway.ChatSingle, Waiting: 3, Since: &begun},
		{Conv: waiting, Platform: "whatsapp", Account: "shop", Chat: gateway.ChatSingle, Waiting: 1, Since: &w.now},
	})
	w.same("waiting of another application", w.listed(store.ConversationQuery{List: store.ListWaiting, App: "other"}), []gateway.ListedConversation(nil))
	hot, next, err := w.l.Conversations(w.ctx, store.ConversationQuery{List: store.ListHot, Limit: 2})
	w.must(err)
	if len(hot) != 2 || next != 0 || hot[0].Conv != first.Conv || hot[0].Events != 3 || hot[0].Waiting != 3 || hot[1].Conv != human || hot[1].Events != 2 {
		w.Errorf("hot %+v, next %d; answered is %s", hot, next, answered)
	}
}
