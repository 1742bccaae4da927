/** A crontab as they are found: 30 lines of one server, with everything people write into one. */
export const serverCrontab = `# m h  dom mon dow   command
SHELL=/bin/bash
PATH=/usr/local/sbin:/usr/local/bin:/sbin:/bin:/usr/sbin:/usr/bin
MAILTO=ops@example.com

# Rotate and compress the application logs
25 6 * * * /usr/sbin/logrotate /etc/logrotate.d/app.conf
# Nightly database dump, kept for 14 days
15 2 * * * pg_dump -Fc shop | gzip > /backup/shop-$(date +\\%F).dump.gz
30 3 * * 0 find /backup -name '*.dump.gz' -mtime +14 -delete
*/5 * * * * cd /var/www/shop && php artisan schedule:run >> /dev/null 2>&1
* * * * * flock -n /tmp/mailer.lock /opt/mailer/bin/send --batch 100
0 * * * * curl -fsS -m 10 --retry 5 https://shop.example.com/cron/hourly > /dev/null
*/10 9-17 * * 1-5 wget -q -O - "https://shop.example.com/cron.php?key=abc" >/dev/null 2>&1
@daily /usr/local/bin/rotate-secrets
@reboot /opt/agent/start.sh
0 0 1,15 * 1 /usr/local/bin/invoice-run --all
0 4 */2 * 1 /usr/local/bin/reindex
#0 5 * * * /usr/local/bin/old-report
CRON_TZ=Europe/London
30 1 * * * /usr/local/bin/fx-rates
0 8 * * mon-fri /usr/local/bin/open-market.sh
0 22 * * 7 /usr/local/bin/weekly%first line%second line
CRON_TZ=America/New_York
30 2 * * * /usr/local/bin/us-settlement
0 0 29 2 * /usr/local/bin/leap-day
0 0 31 2 * /usr/local/bin/never
61 * * * * /usr/local/bin/typo
*/45 * * * * /usr/local/bin/every-45
@hourly
`

export const systemCrontab = `# /etc/crontab: system-wide crontab
SHELL=/bin/sh
# Example of job definition:
# .---------------- minute (0 - 59)
# |  .------------- hour (0 - 23)
# |  |  .---------- day of month (1 - 31)
# *  *  *  *  * user-name command to be executed
17 *	* * *	root	cd / && run-parts --report /etc/cron.hourly
25 6	* * *	root	test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }
-*/15 * * * * root test -x /usr/lib/atrun && /usr/lib/atrun
`

export const cronJobs = `apiVersion: batch/v1
kind: CronJob
metadata:
  name: hello
spec:
  schedule: "* * * * *"
  jobTemplate:
    spec:
      template:
        spec:
          containers:
            - name: hello
              image: busybox:1.28
              command: ["/bin/sh", "-c", "date; echo Hello"]
          restartPolicy: OnFailure
---
apiVersion: batch/v1
kind: CronJob
metadata: { name: report, namespace: billing }
spec:
  timeZone: America/New_York
  schedule: 30 1 * * *
  concurrencyPolicy: Forbid
  suspend: true
  startingDeadlineSeconds: 100
  jobTemplate:
    spec:
      backoffLimit: 2
      activeDeadlineSeconds: 600
      template:
        spec:
          containers:
            - { name: main, image: registry/report:3, args: [--daily], env: [{ name: MODE, value: full }] }
---
apiVersion: batch/v1
kind: CronJob
metadata: { name: inline-zone }
spec:
  schedule: "CRON_TZ=Asia/Tokyo 0 9 * * *"
  concurrencyPolicy: Replace
  jobTemplate: { spec: { template: { spec: { containers: [{ name: main, image: a }] } } } }
---
apiVersion: v1
kind: Service
metadata: { name: hello }
`

export const cloudFormation = `{
  "Resources": {
    "Nightly": {
      "Type": "AWS::Scheduler::Schedule",
      "Properties": {
        "Name": "nightly",
        "GroupName": "billing",
        "Description": "Closes the books",
        "ScheduleExpression": "cron(30 2 ? * MON-FRI *)",
        "ScheduleExpressionTimezone": "Europe/Berlin",
        "FlexibleTimeWindow": { "Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15 },
        "State": "DISABLED",
        "Target": {
          "Arn": { "Fn::GetAtt": ["Books", "Arn"] },
          "RoleArn": "arn:aws:iam::123456789012:role/x",
          "Input": "{\\"mode\\":\\"close\\"}",
          "RetryPolicy": { "MaximumRetryAttempts": 3 }
        }
      }
    },
    "Warm": {
      "Type": "AWS::Events::Rule",
      "Properties": { "ScheduleExpression": "rate(5 minutes)", "Targets": [{ "Id": "a", "Arn": "arn:aws:lambda:eu-west-1:123456789012:function:warm" }] }
    },
    "OnPut": { "Type": "AWS::Events::Rule", "Properties": { "EventPattern": { "source": ["aws.s3"] } } },
    "Books": { "Type": "AWS::Lambda::Function", "Properties": {} }
  }
}`

export const schedulerCli = `{
    "Arn": "arn:aws:scheduler:eu-west-1:123456789012:schedule/default/once",
    "Name": "once",
    "GroupName": "default",
    "ScheduleExpression": "at(2027-07-01T09:00:00)",
    "ScheduleExpressionTimezone": "Europe/London",
    "State": "ENABLED",
    "FlexibleTimeWindow": { "Mode": "OFF" },
    "Target": { "Arn": "arn:aws:sqs:eu-west-1:123456789012:q", "Input": "hello" }
}`

export const cloudSchedulerJobs = `[
  {
    "attemptDeadline": "180s",
    "description": "Refreshes the cache",
    "httpTarget": {
      "body": "eyJmdWxsIjp0cnVlfQ==",
      "headers": { "Content-Type": "application/json", "User-Agent": "Google-Cloud-Scheduler" },
      "httpMethod": "POST",
      "oidcToken": { "serviceAccountEmail": "a@p.iam.gserviceaccount.com" },
      "uri": "https://shop.example.com/refresh"
    },
    "name": "projects/p/locations/europe-west1/jobs/refresh",
    "retryConfig": { "maxBackoffDuration": "3600s", "maxDoublings": 5, "maxRetryDuration": "0s", "minBackoffDuration": "5s", "retryCount": 3 },
    "schedule": "0 */6 1 * MON",
    "state": "ENABLED",
    "timeZone": "Europe/Paris"
  },
  { "name": "projects/p/locations/europe-west1/jobs/old", "schedule": "every 15 minutes", "state": "PAUSED", "pubsubTarget": { "topicName": "projects/p/topics/t", "data": "aGk=" } },
  { "name": "projects/p/locations/europe-west1/jobs/weekly", "schedule": "every mon,thu 09:30", "timeZone": "UTC", "appEngineHttpTarget": { "relativeUri": "/tasks/weekly", "httpMethod": "GET" } },
  { "name": "projects/p/locations/europe-west1/jobs/odd", "schedule": "1st monday of month 09:00", "httpTarget": { "uri": "https://a.example/" } }
]`

export const workflow = `name: Nightly build
on:
  push:
    branches: [main]
  schedule:
    - cron: '30 5 * * 1,3'
    - cron: '17 4 * * *'
      timezone: America/New_York
concurrency:
  group: nightly
  cancel-in-progress: true
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - run: make
`

export const bullmqSchedulers = `[
  { "key": "daily-report", "name": "report", "pattern": "0 15 3 * * *", "tz": "Europe/Madrid", "next": 1796004900000, "iterationCount": 12,
    "template": { "data": { "kind": "daily" }, "opts": { "attempts": 5 } } },
  { "key": "poll", "name": "poll", "every": 10000, "offset": 2500, "next": 1796000002500, "limit": 100 },
  { "key": "odd-days", "name": "odd", "pattern": "0 9 */2 * 1" },
  { "key": "fast", "name": "fast", "every": 250 }
]`

export const temporalSchedules = `[
  {
    "scheduleId": "first-monday",
    "schedule": {
      "spec": {
        "structuredCalendar": [
          { "second": [{}], "minute": [{ "start": 30 }], "hour": [{ "start": 9 }], "dayOfMonth": [{ "start": 1, "end": 7 }],
            "month": [{ "start": 1, "end": 12 }], "dayOfWeek": [{ "start": 1 }] },
          { "second": [{}], "minute": [{ "start": 0, "end": 59, "step": 15 }], "hour": [{ "start": 0, "end": 23 }], "dayOfMonth": [{ "start": 1, "end": 31 }],
            "month": [{ "start": 1, "end": 12 }], "dayOfWeek": [{ "end": 6 }] }
        ],
        "interval": [{ "interval": "3600s", "phase": "1140s" }],
        "timezoneName": "Europe/London"
      },
      "action": { "startWorkflow": { "workflowId": "wf", "workflowType": { "name": "CloseBooks" }, "taskQueue": { "name": "books" },
        "input": { "payloads": [{ "metadata": { "encoding": "anNvbi9wbGFpbg==" }, "data": "eyJhIjoxfQ==" }] } } },
      "policies": { "overlapPolicy": "SCHEDULE_OVERLAP_POLICY_BUFFER_ONE", "catchupWindow": "31536000s" },
      "state": { "notes": "the books", "paused": true }
    },
    "info": { "actionCount": "12" }
  },
  { "scheduleId": "cron", "schedule": { "spec": { "cronString": ["CRON_TZ=Asia/Tokyo 0 12 1-7 * MON # first Monday", "@every 2h/5m", "0 0 1 1 * 2027"] }, "action": { "startWorkflow": { "workflowType": { "name": "X" } } } } },
  { "scheduleId": "excluding", "schedule": { "spec": { "cronString": ["0 1 * * *"], "excludeStructuredCalendar": [{ "dayOfWeek": [{}] }] }, "action": {} } }
]`
