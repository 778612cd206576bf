package wecomtest

// words are what WeCom writes in errmsg.
func words(code int) string {
	switch code {
	case -1:
		return "system busy"
	case 40001:
		return "invalid credential"
	case 40004:
		return "invalid media type"
	case 40005:
		return "invalid type"
	case 40006:
		return "invalid media size"
	case 40007:
		return "invalid media_id"
	case 40008:
		return "invalid message type"
	case 40013:
		return "invalid corpid"
	case 40014:
		return "invalid access_token"
	case 40056:
		return "invalid agentid"
	case 40058:
		return "invalid Request Parameter"
	case 40063:
		return "some parameters are empty"
	case 40066:
		return "invalid url"
	case 40050:
		return "invalid chatid"
	case 40096:
		return "invalid external userid"
	case 95001:
		return "send msg count limit"
	case 95002:
		return "send msg session timeout"
	case 95004:
		return "open_kfid not exist"
	case 95007:
		return "invalid msg token"
	case 95013:
		return "session is closed"
	case 95016:
		return "state transition not allowed"
	case 95018:
		return "send msg session status invalid"
	case KfRepeated:
		return "msgid repeated"
	case 41001:
		return "access_token missing"
	case 41005:
		return "media data missing"
	case 41006:
		return "media_id missing"
	case 41050:
		return "invalid welcome code"
	case 41051:
		return "externaluser has started chatting"
	case 41096:
		return "welcome msg is being distributed"
	case 42001:
		return "access_token expired"
	case 44004:
		return "content size is empty"
	case 45001:
		return "media size out of limit"
	case 45008:
		return "article size out of limit"
	case 45009:
		return "reach max api daily quota limit"
	case 45033:
		return "api concurrent out of limit"
	case 47001:
		return "data format error"
	case 48002:
		return "api forbidden"
	case 60020: // with the address that WeCom saw; this one is nobody's
		return "not allow to access from your ip, hint: [1790000000123456789012345], from ip: 203.0.113.7, more info at https://open.work.weixin.qq.com/devtool/query?e=60020"
	case 86001:
		return "invalid chatid"
	case 86003:
		return "chat not exist"
	case 86008:
		return "not in the chat"
	case 84061:
		return "not external contact"
	case 301002:
		return "not allow operate another agent with this accesstoken"
	case 81013:
		return "user & party & tag all invalid"
	case 82001:
		return "touser & toparty & totag are empty"
	}
	return "error of the sandbox"
}
