package wecomtest

import "strconv"

// Messages and what members do in the app. Sources: WeCom 90239, 90240; file is
// not on these pages.

func (d *draft) buildText() {
	d.msg = "text"
	d.text("Content", d.Text)
}

func (d *draft) buildImage() {
	d.msg = "image"
	d.text("PicUrl", "https://wework.qpic.example.invalid/0")
	d.text("MediaId", d.Media)
}

func (d *draft) buildVoice() {
	d.msg = "voice"
	d.text("MediaId", d.Media)
	d.text("Format", "amr")
}

func (d *draft) buildVideo() {
	d.msg = "video"
	d.text("MediaId", d.Media)
	d.text("ThumbMediaId", d.Media+"-thumb")
}

func (d *draft) buildFile() {
	d.msg = "file"
	d.text("MediaId", d.Media)
	d.text("FileName", d.Text)
}

func (d *draft) buildLocation() {
	d.msg = "location"
	d.number("Location_X", degrees(d.Latitude))
	d.number("Location_Y", degrees(d.Longitude))
	d.number("Scale", "15")
	d.text("Label", d.Text)
	d.text("AppType", "wxwork")
}

func degrees(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func (d *draft) buildLink() {
	d.msg = "link"
	d.text("Title", d.Text)
	d.text("Description", "made up")
	d.text("Url", "https://example.invalid/page?a=1&b=2")
	d.text("PicUrl", "https://wework.qpic.example.invalid/0")
}

func (d *draft) buildClick() {
	d.event("click")
	d.text("EventKey", d.Key)
}

func (d *draft) buildCard() {
	d.event("template_card_event")
	d.text("EventKey", d.Key)
	d.text("TaskId", d.Task)
	d.text("CardType", d.Variant)
	d.text("ResponseCode", d.Code)
	if d.Kind != "card-form" {
		return
	}
	var options []Field
	for _, o := range d.Picked {
		options = append(options, Field{Name: "OptionId", Value: o})
	}
	d.within("SelectedItems", Field{Name: "SelectedItem", In: []Field{{Name: "QuestionKey", Value: "question-1"}, {Name: "OptionIds", In: options}}})
}

func (d *draft) buildCardMenu() {
	d.event("template_card_menu_event")
	d.text("EventKey", d.Key)
	d.text("TaskId", d.Task)
	d.text("CardType", "text_notice")
	d.text("ResponseCode", d.Code)
}

func (d *draft) buildTaskCard() {
	d.event("taskcard_click")
	d.text("EventKey", d.Key)
	d.text("TaskId", d.Task)
	d.agent = false
	d.number("AgentId", strconv.FormatInt(d.app.AgentID, 10)) // spelt so
}

func (d *draft) buildScan() {
	name := "scancode_waitmsg"
	if d.Kind == "scan-push" {
		name = "scancode_push"
	}
	d.event(name)
	d.text("EventKey", d.Key)
	d.within("ScanCodeInfo", Field{Name: "ScanType", Value: "qrcode"}, Field{Name: "ScanResult", Value: d.Text})
}

func (d *draft) buildEnter() {
	d.event("enter_agent")
	d.text("EventKey", "")
}

func (d *draft) buildWhere() {
	d.event("LOCATION")
	d.number("Latitude", degrees(d.Latitude))
	d.number("Longitude", degrees(d.Longitude))
	d.number("Precision", "65.0")
	d.text("AppType", "wxwork")
}

func (d *draft) buildView() {
	d.event(d.Variant)
	d.text("EventKey", d.Key)
}

func (d *draft) buildPictures() {
	d.event(d.Variant)
	d.text("EventKey", d.Key)
	d.within("SendPicsInfo", Field{Name: "Count", Value: "1", Number: true},
		Field{Name: "PicList", In: []Field{{Name: "item", In: []Field{{Name: "PicMd5Sum", Value: "1b5f7c23b5bf75682a53e7b6d163e185"}}}}})
}

func (d *draft) buildLocationSelect() {
	d.event("location_select")
	d.text("EventKey", d.Key)
	d.within("SendLocationInfo", Field{Name: "Location_X", Value: degrees(d.Latitude)}, Field{Name: "Location_Y", Value: degrees(d.Longitude)},
		Field{Name: "Scale", Value: "15"}, Field{Name: "Label", Value: d.Text}, Field{Name: "Poiname", Value: "made up"})
}

func (d *draft) buildEvent() {
	d.event(d.Variant)
	d.text("EventKey", d.Key)
}

func (d *draft) buildUnknownType() {
	d.msg = "hologram"
	d.within("Hologram", Field{Name: "Depth", Value: "3", Number: true})
}
