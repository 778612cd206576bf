package wecomtest

import "strconv"

// Events that nobody wrote. Sources: WeCom 90240, 90970 to 90972, 91815, 92130,
// 92277, 94145, 94670, 97299, 97712, 90628.

func (d *draft) buildSubscribe() { d.event(d.Variant) }

// ofCorp begins an event of the corp; ChangeType stands after the name.
func (d *draft) ofCorp(event, change string) {
	d.ofSystem()
	d.event(event)
	d.text("ChangeType", change)
}

func (d *draft) buildMember() {
	change := d.Variant
	if change == "renamed" {
		change = "update_user"
	}
	d.ofCorp("change_contact", change)
	d.text("UserID", d.From)
	switch d.Variant {
	case "renamed":
		d.text("NewUserID", d.Renamed)
	case "create_user", "update_user":
		d.text("Name", "样例")
		d.text("Department", "3,7")
		d.number("Status", "1")
	}
}

func (d *draft) buildDepartment() {
	d.ofCorp("change_contact", d.Variant)
	d.number("Id", d.id("7"))
	if d.Variant != "delete_party" {
		d.text("Name", d.Text)
		d.number("ParentId", "1")
	}
}

func (d *draft) buildCorpTag() {
	d.ofCorp("change_contact", "update_tag")
	d.number("TagId", d.id("5"))
	d.text("AddUserItems", d.From)
	d.text("DelUserItems", "")
}

func (d *draft) buildCustomer() {
	change := d.Variant
	if change == "transferred" {
		change = "del_external_contact"
	}
	d.ofCorp("change_external_contact", change)
	d.customer()
}

// customer are the fields after the ChangeType, the same in both forms.
func (d *draft) customer() {
	if d.Variant == "transfer_fail" {
		d.text("FailReason", "customer_refused")
	}
	d.text("UserID", d.From)
	d.text("ExternalUserID", d.Customer)
	switch d.Variant {
	case "add_external_contact", "add_half_external_contact":
		d.text("State", "made-up-channel")
		d.text("WelcomeCode", d.Code)
	case "msg_audit_approved":
		d.text("WelcomeCode", d.Code)
	case "transferred":
		d.text("Source", "DELETE_BY_TRANSFER")
	}
}

func (d *draft) buildChat() {
	d.ofSystem()
	d.event("change_external_chat")
	d.text("ChatId", d.Chat)
	switch d.Variant {
	case "create", "dismiss":
		d.text("ChangeType", d.Variant)
		return
	}
	d.text("ChangeType", "update")
	d.text("UpdateDetail", d.Variant)
	switch d.Variant {
	case "add_member":
		d.number("JoinScene", "1")
	case "del_member":
		d.number("QuitScene", "0")
	default:
		return
	}
	var people []Field
	for _, p := range d.People {
		people = append(people, Field{Name: "Item", Value: p})
	}
	d.number("MemChangeCnt", strconv.Itoa(len(people)))
	d.within("MemChangeList", people...)
	d.text("LastMemVer", d.Before)
	d.text("CurMemVer", d.Version)
}

func (d *draft) buildTag() {
	d.ofSystem()
	d.event("change_external_tag")
	d.text("Id", d.Tag)
	if d.Variant != "shuffle" {
		d.text("TagType", "tag")
	}
	d.text("ChangeType", d.Variant)
}

func (d *draft) buildAgent() {
	d.sender = "sys"
	d.event(d.Variant)
}

func (d *draft) buildAgentAlert() {
	d.sender = "sys"
	d.event(d.Variant)
	d.number("EffectTime", strconv.FormatInt(d.At.Unix()+86_400, 10))
}

func (d *draft) buildShared() {
	d.sender = "sys"
	d.event("share_agent_change")
	d.text("CorpId", "wwmadeupother0001")
}

func (d *draft) buildBatch() {
	d.ofSystem()
	d.event("batch_job_result")
	d.within("BatchJob", Field{Name: "JobId", Value: d.id("job-made-up-1")}, Field{Name: "JobType", Value: d.Variant},
		Field{Name: "ErrCode", Value: "0", Number: true}, Field{Name: "ErrMsg", Value: "ok"})
}

func (d *draft) buildApproval() {
	d.sender = "sys"
	d.event("open_approval_change")
	d.within("ApprovalInfo", Field{Name: "ThirdNo", Value: d.id("made-up-approval-1")}, Field{Name: "OpenSpName", Value: d.Text},
		Field{Name: "OpenSpStatus", Value: d.Variant, Number: true}, Field{Name: "ApplyUserId", Value: d.From})
}

func (d *draft) buildSystemApproval() {
	const itsApp = "3010040" // the approval app of WeCom's own
	d.sender, d.agent = "sys", false
	d.event("sys_approval_change")
	d.within("ApprovalInfo", Field{Name: "SpNo", Value: d.id("202600000001"), Number: true}, Field{Name: "SpName", Value: d.Text},
		Field{Name: "SpStatus", Value: d.Variant, Number: true}, Field{Name: "Applyer", In: []Field{{Name: "UserId", Value: d.From}}},
		Field{Name: "StatuChangeEvent", Value: "1", Number: true})
	d.number("AgentID", itsApp)
}

func (d *draft) buildLiving() {
	d.event("living_status_change")
	d.text("LivingId", d.id("lvMadeUp0001"))
	d.number("Status", d.Variant)
}

func (d *draft) buildAcquisition() {
	d.ofCorp("customer_acquisition", d.Variant)
	if d.Kind == "acquisition" {
		d.text("UserID", d.From)
		d.text("ExternalUserID", d.Customer)
	}
	d.text("LinkId", "made-up-link-0001")
}

func (d *draft) buildKfBell() {
	d.sender, d.agent = "", false
	d.event("kf_msg_or_event")
	d.text("Token", "ENC"+d.Code)
	d.text("OpenKfId", d.Kf)
}

func (d *draft) buildKfAccounts() {
	d.sender, d.agent = "", false
	d.event("kf_account_auth_change")
	d.text("AuthAddOpenKfId", d.Kf)
	d.text("AuthAddOpenKfId", d.Kf+"-2")
	d.text("AuthDelOpenKfId", d.Kf+"-3")
}

func (d *draft) buildArchiveBell() {
	d.sender, d.agent = "sys", false
	d.event("msgaudit_notify")
	d.number("AgentID", "2000004") // the archive's
}

// ofSuite begins the form sent to suites; corp says that it names the corp.
func (d *draft) ofSuite(info string, corp bool) {
	d.suite = true
	if corp {
		d.text("AuthCorpId", d.app.CorpID)
	}
	d.event(info)
}

func (d *draft) buildSuiteTicket() {
	d.ofSuite("suite_ticket", false)
	d.text("SuiteTicket", d.Code)
}

func (d *draft) buildSuiteAuth() {
	d.ofSuite(d.Variant, d.Variant == "change_auth" || d.Variant == "cancel_auth")
	if d.Variant == "create_auth" || d.Variant == "reset_permanent_code" {
		d.text("AuthCode", d.Code)
	}
}

func (d *draft) buildSuiteCustomer() {
	d.ofSuite("change_external_contact", true)
	d.text("ChangeType", d.Variant)
	d.customer()
}

func (d *draft) buildSuiteMember() {
	d.ofSuite("change_contact", true)
	d.text("ChangeType", d.Variant)
	d.text("UserID", d.From)
}
