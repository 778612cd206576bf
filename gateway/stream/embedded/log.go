package embedded

import "go.uber.org/zap"

// serverLog gives the server's lines to zap. The server's notices are details
// for us and go to debug; its warnings and errors stay what they are. A fatal
// line does not end the process: Start or Watch see that the server is not well.
type serverLog struct{ log *zap.SugaredLogger }

func (l serverLog) Noticef(format string, v ...any) { l.log.Debugf(format, v...) }
func (l serverLog) Warnf(format string, v ...any)   { l.log.Warnf(format, v...) }
func (l serverLog) Fatalf(format string, v ...any)  { l.log.Errorf(format, v...) }
func (l serverLog) Errorf(format string, v ...any)  { l.log.Errorf(format, v...) }
func (l serverLog) Debugf(format string, v ...any)  { l.log.Debugf(format, v...) }
func (l serverLog) Tracef(format string, v ...any)  { l.log.Debugf(format, v...) }
