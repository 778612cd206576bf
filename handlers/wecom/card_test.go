package wecom

import (
	"encoding/json"
	"reflect"
	"testing"
)

// A card that passes keeps everything that was in it and goes out with a task_id
// that WeCom takes: its own, or our marker.
func FuzzCard(f *testing.F) {
	const marker = "ms_01JDX7Q4T5V8N2KZ0C9RB3MEHA"
	for _, seed := range []string{
		`{"card_type":"text_notice","main_title":{"title":"T"},"card_action":{"type":1,"url":"https://x.test"}}`,
		`{"card_type":"text_notice","sub_title_text":"<&>","card_action":{},"task_id":"mine","n":9007199254740993.10}`,
		`{"card_type":"button_interaction","main_title":null,"button_list":[{}]}`,
		`{"card_type":"vote_interaction","main_title":{},"checkbox":{},"submit_button":{},"task_id":null}`,
		`{"card_type":"multiple_interaction","main_title":{},"select_list":[{},{},{},{}],"submit_button":{}}`,
		`{"card_type":"news_notice","card_action":{},"main_title":{},"card_image":{},"task_id":""}`,
		`{"card_type":"text_notice","card_type":"x"}`, `[]`, `null`, `{"card_type":7}`, `{`, "",
	} {
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, raw []byte, update bool) {
		if checkCard(raw, update) != "" {
			return
		}
		out, err := marked(raw, marker)
		if err != nil {
			t.Fatalf("passed and cannot be written: %v", err)
		}
		var before, after map[string]any
		if json.Unmarshal(raw, &before) != nil || json.Unmarshal(out, &after) != nil {
			t.Fatalf("not JSON: %s", out)
		}
		id, ok := after["task_id"].(string)
		if !ok || id == "" || len(id) > 128 || !taskID(id) {
			t.Errorf("task_id %q in %s", id, out)
		}
		if own, _ := before["task_id"].(string); own != "" && own != id || own == "" && id != marker {
			t.Errorf("task_id became %q", id)
		}
		delete(before, "task_id")
		delete(after, "task_id")
		if !reflect.DeepEqual(before, after) {
			t.Errorf("%s became %s", raw, out)
		}
	})
}
