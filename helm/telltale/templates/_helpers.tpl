{{- define "telltale.name" -}}
{{- default .Release.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* What chooses the pods of a part: (list . "agent"). Never changes. */}}
{{- define "telltale.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: telltale
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "telltale.labels" -}}
{{- $root := index . 0 -}}
{{ include "telltale.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ $root.Chart.Name }}-{{ $root.Chart.Version }}
{{- end -}}

{{- define "telltale.image" -}}
{{- $root := index . 0 -}}
{{- $image := index . 1 -}}
{{ $image.repository }}:{{ default $root.Chart.AppVersion $image.tag }}
{{- end -}}

{{- define "telltale.collectorSecret" -}}
{{- $tls := .Values.collector.tls -}}
{{- if $tls.existingSecret -}}
{{ $tls.existingSecret }}
{{- else if $tls.certManager.enabled -}}
{{ include "telltale.name" . }}-collector-tls
{{- else -}}
{{ fail "collector.tls: give existingSecret (tls.crt, tls.key, ca.crt; telltale pki makes them) or set certManager.enabled" }}
{{- end -}}
{{- end -}}

{{- define "telltale.collectorAddress" -}}
{{- if .Values.agent.collectorAddress -}}
{{ .Values.agent.collectorAddress }}
{{- else if .Values.collector.enabled -}}
{{ include "telltale.name" . }}-collector.{{ .Release.Namespace }}.svc:{{ .Values.collector.service.grpcPort }}
{{- else -}}
{{ fail "agent.collectorAddress: say where summaries go, as collector.enabled is false" }}
{{- end -}}
{{- end -}}

{{- define "telltale.enrollAddress" -}}
{{- if .Values.agent.enroll.address -}}
{{ .Values.agent.enroll.address }}
{{- else if .Values.agent.collectorAddress -}}
{{ regexReplaceAll ":[0-9]+$" .Values.agent.collectorAddress ":7430" }}
{{- else if .Values.collector.enroll.existingSecret -}}
{{ include "telltale.name" . }}-collector.{{ .Release.Namespace }}.svc:{{ .Values.collector.service.enrollPort }}
{{- else -}}
{{ fail "agent.enroll.tokenSecret: nobody signs; give collector.enroll.existingSecret or agent.enroll.address" }}
{{- end -}}
{{- end -}}

{{/* Of the URLs in incidents.alertmanager, each once: "9093,443"; empty: there are none. */}}
{{- define "telltale.alertmanagerPorts" -}}
{{- $incidents := default (dict) .Values.collector.config.incidents -}}
{{- $ports := list -}}
{{- range splitList "," (default "" $incidents.alertmanager) -}}
{{- with trim . -}}
{{- $url := urlParse . -}}
{{- $usual := ternary "443" "80" (eq $url.scheme "https") -}}
{{- $ports = append $ports (regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default $usual) -}}
{{- end -}}
{{- end -}}
{{ join "," (uniq $ports) }}
{{- end -}}

{{- define "telltale.agentConfig" -}}
{{- $config := dict
  "collector" (include "telltale.collectorAddress" .)
  "epoch" .Values.agent.epoch
  "labels" .Values.agent.labels
  "run_as" "telltale-agent"
  "sensor" (dict "budget" .Values.agent.budget)
  "spool" (dict "dir" "/var/lib/telltale-agent/spool")
  "status_socket" "/run/telltale/agent.sock"
  "unwind" (dict "dir" "/var/lib/telltale-agent/unwind") -}}
{{- $pki := "/etc/telltale/pki" -}}
{{- if .Values.agent.enroll.tokenSecret -}}
{{- $pki = "/var/lib/telltale-agent/pki" -}}
{{- $_ := set $config "enroll" (dict "collector" (include "telltale.enrollAddress" .)) -}}
{{- else -}}
{{- $_ := set $config "enroll" (dict "renew" false) -}}
{{- end -}}
{{- $_ := set $config "tls" (dict "ca" (printf "%s/ca.crt" $pki) "cert" (printf "%s/node.crt" $pki) "key" (printf "%s/node.key" $pki) "server_name" .Values.agent.serverName) -}}
{{ toYaml (mergeOverwrite $config (deepCopy .Values.agent.config)) }}
{{- end -}}

{{- define "telltale.collectorConfig" -}}
{{- $config := dict
  "data" "/var/lib/telltale-collector"
  "listen" (dict "grpc" ":7410" "https" ":7480")
  "tls" (dict "ca" "/etc/telltale/tls/ca.crt" "cert" "/etc/telltale/tls/tls.crt" "key" "/etc/telltale/tls/tls.key") -}}
{{- if .Values.collector.enroll.existingSecret -}}
{{- $_ := set $config "enroll" (dict "ca_cert" "/etc/telltale/enroll/tls.crt" "ca_key" "/etc/telltale/enroll/tls.key" "validity" .Values.collector.enroll.validity) -}}
{{- $_ := set $config.listen "enroll" ":7430" -}}
{{- end -}}
{{ toYaml (mergeOverwrite $config (deepCopy .Values.collector.config)) }}
{{- end -}}
