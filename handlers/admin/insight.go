package admin

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/causewayhq/causeway/gateway"
)

// sumsAnswer is what the sums are answered with.
type sumsAnswer struct {
	Kept      *sumsView        `json:"kept"`
	Recounted *sumsView        `json:"recounted,omitempty"`
	Counters  map[string]int64 `json:"counters"`
}

// sums answers the conservation sums, kept and on demand recounted.
func (r *router) sums(c *gin.Context) {
	p := query(c, "recount")
	recount := p.flag("recount")
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	var out sumsAnswer
	ctx := c.Request.Context()
	kept, err := r.API.KeptSums(ctx)
	if err != nil {
		r.fail(c, err)
		return
	}
	out.Kept = viewSums(&kept)
	if recount {
		counted, err := r.API.RecountedSums(ctx)
		if err != nil {
			r.fail(c, err)
			return
		}
		out.Recounted = viewSums(&counted)
	}
	out.Counters, err = r.API.Counters(ctx)
	r.answer(c, out, err)
}

func (r *router) doctor(c *gin.Context) {
	if err := query(c).err(); err != nil {
		r.fail(c, err)
		return
	}
	report, err := r.API.Doctor(c.Request.Context())
	report.Findings = list(report.Findings)
	r.answer(c, report, err)
}

func (r *router) doctorAccount(c *gin.Context) {
	if err := query(c).err(); err != nil {
		r.fail(c, err)
		return
	}
	report, err := r.API.DoctorAccount(c.Request.Context(), c.Param("name"))
	report.Findings = list(report.Findings)
	r.answer(c, report, err)
}

func (r *router) audit(c *gin.Context) {
	p := query(c, "limit")
	limit := p.limit()
	if err := p.err(); err != nil {
		r.fail(c, err)
		return
	}
	found, err := r.API.AuditLog(c.Request.Context(), limit)
	if err != nil {
		r.fail(c, err)
		return
	}
	c.JSON(http.StatusOK, struct {
		Audit []gateway.AuditEntry `json:"audit"`
	}{list(found)})
}
